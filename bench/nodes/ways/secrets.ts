import { randomBytes } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Installation } from '../installation.ts'
import type { Way } from './way.ts'

/** More than the two minutes after which docs/reliability.md has the signing secrets of webhook endpoints encrypted, and for an engine to be called. */
const WAIT_SECONDS_MAX = 300

/** Rotation of secrets, step by step as docs/reliability.md says. */
export const secrets: readonly Way[] = [
  {
    name: 'secret-rotation',
    what: 'The secret of the service and the key of an engine are rotated',
    seconds: { long: 5, short: null },
    async break(installation) {
      const { current, previous, engine_key } = installation.secrets
      const [before, next] = [readFileSync(current, 'utf8'), randomBytes(32).toString('hex')]
      writeFileSync(previous, `${next}\n`)
      await reload(installation)
      const logs = Object.values(installation.nodes).map(({ log_file }) => ({
        log_file,
        begin: statSync(log_file).size,
      }))
      writeFileSync(current, next)
      writeFileSync(previous, `${before}\n`)
      await reload(installation)
      await until('signing secrets are encrypted with the new secret', () =>
        logs.some(({ log_file, begin }) => /"0 left".*"webhook_secrets_encrypted"/.test(readSince(log_file, begin))),
      )
      writeFileSync(previous, '')
      await reload(installation)
      const key = `key-${next.slice(0, 8)}`
      writeFileSync(engine_key, key)
      await reload(installation)
      const { requests } = installation.engines
      await until('the engine is called with the new key', () =>
        requests.some(({ headers }) => headers.authorization === `Bearer ${key}`),
      )
    },
    expects: { goes_on: ['job', 'response', 'chat', 'stream'], unnoticed: true },
  },
]

async function reload({ admin }: Installation): Promise<void> {
  const { code, stdout, stderr } = await admin('reload')
  if (code !== 0) throw new Error(`kinora admin reload: ${code} ${stdout}${stderr}`)
}

function readSince(log_file: string, begin: number): string {
  return readFileSync(log_file).subarray(begin).toString('utf8')
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const late = performance.now() + WAIT_SECONDS_MAX * 1000; !isSo(); await pause(500))
    if (performance.now() > late) throw new Error(`not within ${WAIT_SECONDS_MAX} seconds: ${what}`)
}
