import { chat, chatBody, startUpstream } from '../chat/setup.ts'
import { cpuOf } from '../support/cpu.ts'
import { alternate, amountOf } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import { startBareProxy } from './bare/start.ts'
import { NO_NGINX, startNginxProxy } from './nginx.ts'

const CALLERS = 64
/** Of one round. */
const ANSWERS = amountOf(10_000)

/** What the machine can do without us, measured in every run, so that two runs can be held against each other: one plain answer through each proxy. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: 1, gap_ms: 0 })
  const bare = await startBareProxy(upstream, 'forward')
  const nginx = await startNginxProxy(upstream)
  try {
    const costOf =
      ({ pid, url }: { pid: number; url: string }) =>
      async (answers: number) => {
        const before = cpuOf(pid)
        const target = { url: `${url}/v1/chat/completions`, headers: { 'content-type': 'application/json' } }
        await chat({ ...target, body: chatBody(false), callers: CALLERS, amount: { answers } })
        return (cpuOf(pid) - before) / answers
      }
    const costs = await alternate({ bare: costOf(bare), nginx: nginx && costOf(nginx) }, { count: ANSWERS })
    const unit = 'µs CPU'
    return [
      rowOf({ name: 'Yardstick, bare Node proxy, plain answer of 500 bytes', unit, rounds: costs.bare }),
      rowOf({
        name: 'Yardstick, nginx proxy_pass, plain answer of 500 bytes',
        unit,
        rounds: nginx ? costs.nginx : { missing: NO_NGINX },
      }),
    ]
  } finally {
    await nginx?.stop()
    await bare.stop()
    await upstream.stop()
  }
}
