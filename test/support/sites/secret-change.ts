import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startApp, type TestApp } from '../http/app.ts'

export type SecretChange = Awaited<ReturnType<typeof changeSecret>>

/** Two more processes on database and files of `before`, with its settings and another secret. Close them before it. */
export async function changeSecret(before: TestApp) {
  const config = readFileSync(join(before.dir, 'kinora.yaml'), 'utf8')
  const { database, dir } = before
  const beside = { database, dir, secret: randomBytes(32).toString('hex') }
  const after = await startApp({ config, beside, previous_secrets: [before.secret] })
  const settled = await startApp({ config, beside })
  for (const each of [after, settled]) each.ctx.clock = before.clock
  return {
    /** Has the new secret, and accepts the one of `before`. */
    after,
    /** Has the new secret alone, as once the previous one is removed. */
    settled,
    async close() {
      await settled.close()
      await after.close()
    },
  }
}
