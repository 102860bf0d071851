import assert from 'node:assert/strict'
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { runAudit } from '../../server/audit/audit.ts'
import type { Serving } from '../../server/cli/serve.ts'
import { postgresHome } from '../../server/platform/data-dir.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { runningPostgresUrl } from '../../server/platform/postgres/embedded.ts'
import { runCommand, runKinora } from '../support/command.ts'
import { dataDir, emptyDatabase, type TestDir } from '../support/data/data-dir.ts'
import { signInAs } from '../support/http/people.ts'

let dir: TestDir
let external: Awaited<ReturnType<typeof emptyDatabase>>
let file_id: string
let key: string
before(async () => {
  dir = dataDir()
  await dir.prepare()
  external = await emptyDatabase()
})
after(async () => {
  await dir.remove()
  await external.drop()
})

const moveTo = (to: string) => ['admin', 'database', 'move', '--to', to, '--data-dir', dir.path, '--json']
const move = (to: string, env: NodeJS.ProcessEnv = {}) => runCommand(moveTo(to), env)

async function call(url: string, method: string, path: string, body?: object | FormData) {
  const json = body !== undefined && !(body instanceof FormData)
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(json && { 'content-type': 'application/json' }) },
    body: json ? JSON.stringify(body) : ((body as FormData | undefined) ?? null),
  })
  return { status: response.status, text: await response.text() }
}

async function respond(url: string, input: string): Promise<string> {
  const { status, text } = await call(url, 'POST', '/v1/responses', { model: 'sandbox-1', input })
  assert.equal(status, 200, text)
  return JSON.parse(text).id
}

/** Everything in the tables, in one order, but what belongs to one database alone. */
async function contentOf(url: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows: tables } = await client.query(
    "select tablename from pg_tables where schemaname = 'public' and tablename not in ('schema_migrations', 'installation', 'request_rates', 'audit_state', 'nodes', 'process_states', 'workers', 'sweeps', 'activity_entries', 'stored_bytes') order by 1",
  )
  const content: Record<string, string> = {}
  for (const { tablename } of tables) {
    // The use of a key is noted as a service stops.
    const row = tablename === 'api_keys' ? "(to_jsonb(t) - 'last_used_at')::text" : 't::text'
    const { rows } = await client.query(
      `select coalesce(string_agg(${row}, E'\\n' order by ${row}), '') as all from ${tablename} t`,
    )
    content[tablename] = rows[0].all
  }
  await client.end()
  return content
}

async function requireWhole(serving: Serving, url: string): Promise<void> {
  const { email, password } = dir.firstRun()
  assert.equal((await signInAs(serving, email, password)).status, 200)
  assert.deepEqual(await call(serving.url, 'GET', `/v1/files/${file_id}/content`), { status: 200, text: 'a note' })
  const { db, close } = openDb(url, { pool_max: 1 })
  const broken = (await runAudit(db)).filter(({ violations }) => violations > 0)
  await close()
  assert.deepEqual(broken, [])
}

const embeddedUrl = () => runningPostgresUrl(postgresHome(dir.path))!

test('everything moves to an external database and back, row for row, with the audit clean and the database left behind refused', async () => {
  const first = await dir.serve()
  key = first.first_run!.api_key
  const body = new FormData()
  body.set('purpose', 'user_data')
  body.set('file', new Blob(['a note']), 'note.txt')
  file_id = JSON.parse((await call(first.url, 'POST', '/v1/files', body)).text).id
  const response_id = await respond(first.url, 'Back\\slash, tab\t, "quotes", line\nbreak, 猫 and \\N')
  const busy = await move(external.url)
  assert.equal(busy.code, 1)
  assert.match(busy.stderr, /in use by another service/)
  const before = await contentOf(embeddedUrl())
  await first.stop()

  const moved = await runKinora(moveTo(external.url))
  assert.equal(moved.code, 0, moved.stderr)
  const report = JSON.parse(moved.stdout)
  assert.equal(report.audit, 'clean')
  assert.match(report.next, /start the service with this DATABASE_URL/)
  assert.deepEqual(await contentOf(external.url), before)

  const outside = await dir.serve({ DATABASE_URL: external.url })
  assert.equal(outside.first_run, null)
  await requireWhole(outside, external.url)
  const { status, text } = await call(outside.url, 'POST', '/v1/responses', {
    model: 'sandbox-1',
    input: 'Go on',
    previous_response_id: response_id,
  })
  assert.equal(status, 200, text)
  const after = await contentOf(external.url)
  await outside.stop()
  await assert.rejects(dir.serve(), /was moved/)

  const occupied = await move('embedded', { DATABASE_URL: external.url })
  assert.equal(occupied.code, 1)
  assert.match(occupied.stderr, /is not empty.*Move .*postgres away first/)
  renameSync(join(dir.path, 'postgres'), join(dir.path, 'postgres.old'))
  const back = await move('embedded', { DATABASE_URL: external.url })
  assert.equal(back.code, 0, back.stderr)
  assert.match(JSON.parse(back.stdout).next, /start the service without DATABASE_URL/)
  const home = await dir.serve()
  const { sessions: _, ...kept } = after
  const { sessions: __, ...found } = await contentOf(embeddedUrl())
  assert.deepEqual(found, kept)
  await requireWhole(home, embeddedUrl())
  await home.stop()
  await assert.rejects(dir.serve({ DATABASE_URL: external.url }), /was moved/)
})

test('a target with rows of its own, and a source without any, are refused', async () => {
  const other = dataDir()
  const elsewhere = await emptyDatabase()
  await (await other.serve({ DATABASE_URL: elsewhere.url })).stop()
  const onto = await move(elsewhere.url)
  assert.equal(onto.code, 1)
  assert.match(onto.stderr, /is not empty. Name an empty database/)
  await other.remove()
  await elsewhere.drop()
})

test('an operator who restored a backup declares that database and files belong together', async () => {
  const other = dataDir()
  await other.prepare()
  await (await other.serve()).stop()
  rmSync(join(other.path, 'blobs', 'installation.json'))
  await assert.rejects(other.serve(), /database adopt/)
  const adopted = await runCommand(['admin', 'database', 'adopt', '--data-dir', other.path, '--json'])
  assert.equal(adopted.code, 0, adopted.stderr)
  await (await other.serve()).stop()
  await other.remove()
})

test('an unusable target database is reported in one sentence, and the source stays in use', async () => {
  const missing = new URL(external.url)
  missing.pathname = '/nosuch'
  const { code, stderr } = await move(missing.href)
  assert.equal(code, 1)
  assert.match(stderr, /Cannot use the database .*\/nosuch.*: database "nosuch" does not exist/)
  assert.doesNotMatch(stderr, /\n\s+at /)
})
