import { readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { MIGRATIONS_DIR, migrate, readMigrations } from '../../../server/platform/db/migrate.ts'
import { emptyDatabase } from '../data/data-dir.ts'
import { RELEASED_FILE, type Released, refusalOf } from './schema.ts'

// node test/support/released/collect.ts <recorded file> [<last migration>]: at a release, makes statements.json of what record.ts wrote, for the migrations
// that there are now. Source: CONTRIBUTING.md, Migrations.

const recorded = readFileSync(process.argv[2]!, 'utf8').split('\n').filter(Boolean)
const texts = new Set(recorded.map((line) => JSON.parse(line) as string))

/** The same statement with more rows or longer lists is one statement; the shortest stands for all. */
const byShape = new Map<string, string>()
for (const text of texts) {
  if (!/^\s*(--[^\n]*\n\s*)*(select|insert|update|delete|with|\()/i.test(text) || /;\s*\S/.test(text)) continue
  const shape = text
    .replaceAll(/\$\d+/g, '$')
    .replaceAll(/(\([^()]*\$[^()]*\))(, \1)+/g, '$1')
    .replaceAll(/\$(, \$)+/g, '$')
  const known = byShape.get(shape)
  if (known === undefined || text.length < known.length) byShape.set(shape, text)
}

/** The last migration of the release; by default the last there is. */
const migration = Number(process.argv[3] ?? readMigrations(MIGRATIONS_DIR).at(-1)!.number)
const database = await emptyDatabase()
const pool = new pg.Pool({ connectionString: database.url })
await migrate(pool, MIGRATIONS_DIR, { up_to: migration })
const client = await pool.connect()
const statements: string[] = []
for (const text of [...byShape.values()].sort()) if ((await refusalOf(client, text)) === null) statements.push(text)
client.release()
await pool.end()
await database.drop()
const released: Released = { migration, statements }
writeFileSync(RELEASED_FILE, `${JSON.stringify(released, null, 1)}\n`)
process.stdout.write(`${statements.length} of ${texts.size} statements\n`)
process.exit(0)
