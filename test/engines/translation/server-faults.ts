import type { Fault } from '../../support/upstream/engine-server/faults.ts'
import type { EngineServer } from '../../support/upstream/engine-server/server.ts'
import { REPLY_FAULTS } from '../reply-faults.ts'
import type { Translator } from './contract.ts'

/** The faults of a translator behind a server: those of any server, and `replies` of its own. */
export function serverFaults(
  server: EngineServer,
  replies: Record<string, Fault>,
): Pick<Translator, 'faults' | 'silence' | 'reset'> {
  const meet = (fault: Fault) => () => {
    server.script({ method: 'POST', fault })
    return '猫が歩く'
  }
  const usual = { ...server.answers }
  return {
    faults: Object.fromEntries(
      Object.entries({ ...REPLY_FAULTS, ...replies }).map(([name, fault]) => [name, meet(fault)]),
    ),
    silence: meet({ kind: 'stall' }),
    reset() {
      server.unscript()
      server.release()
      Object.assign(server.answers, usual)
    },
  }
}
