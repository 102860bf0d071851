import { appendFileSync } from 'node:fs'
import pg from 'pg'

/**
 * Writes every statement that this process sends to a database into the file `KINORA_RECORD_STATEMENTS`, one JSON string a line: loaded
 * before the tests, `node --import`. `collect.ts` makes `statements.json` of them.
 */
const file = process.env.KINORA_RECORD_STATEMENTS
if (file !== undefined) {
  const seen = new Set<string>()
  const query = pg.Client.prototype.query as (...given: unknown[]) => unknown
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [first] = given
    const text = typeof first === 'string' ? first : (first as { text?: unknown } | undefined)?.text
    if (typeof text === 'string' && !seen.has(text)) {
      seen.add(text)
      appendFileSync(file, `${JSON.stringify(text)}\n`)
    }
    return query.apply(this, given)
  } as typeof pg.Client.prototype.query
}
