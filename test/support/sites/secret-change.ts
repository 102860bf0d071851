import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startApp, type TestApp } from '../http/app.ts'

/** A service before its secret changes, and the same one after it. */
export type SecretChange = {
  /** Has the new secret, and accepts the one of `before`. */
  after: TestApp
  /** Has the new secret alone, as once the previous one is removed. */
  settled: TestApp
  close(): Promise<void>
}

/** Two more processes on database and files of `before`, with its settings and another secret. Close them before it. */
export async function changeSecret(before: TestApp): Promise<SecretChange> {
  const config = readFileSync(join(before.dir, 'kinora.yaml'), 'utf8')
  const { database, dir } = before
  const beside = { database, dir, secret: randomBytes(32).toString('hex') }
  const after = await startApp({ config, beside, previous_secrets: [before.secret] })
  const settled = await startApp({ config, beside })
  for (const each of [after, settled]) each.ctx.clock = before.clock
  return {
    after,
    settled,
    async close() {
      await settled.close()
      await after.close()
    },
  }
}
