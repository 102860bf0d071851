import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { COMMANDS } from '../../server/cli/admin/admin.ts'
import { openDataDir } from '../../server/platform/data-dir.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { type Ran, runCommand, runKinora } from '../support/command.ts'
import { emptyDatabase } from '../support/data/data-dir.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { freePort } from '../support/listen.ts'
import { ROOT } from '../support/sources.ts'

let dir: string
/** Where nothing listens. */
let nowhere: string
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-refusals-'))
  nowhere = `postgres://someone:canary@127.0.0.1:${await freePort()}/kinora?sslmode=disable`
})
after(() => rmSync(dir, { recursive: true, force: true }))

/** Exit code 1, and nothing but sentences: no stack, no credential. */
function assertSentence({ code, stdout, stderr }: Ran, pattern: RegExp): void {
  assert.deepEqual([code, stdout], [1, ''], stderr)
  assert.match(stderr, pattern)
  assert.doesNotMatch(stderr, /\n\s+at |node:internal|canary/)
  assert.equal(stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{')).length, 1, stderr)
}

test('a PostgreSQL that cannot be reached is reported in one sentence by migrate and admin, which do not wait for it', async () => {
  const env = { DATABASE_URL: nowhere, KINORA_DATA_DIR: join(dir, 'unreachable') }
  for (const args of [['migrate'], ['admin', 'org', 'list']]) {
    assertSentence(
      await runKinora(args, { env, cwd: dir }),
      /Cannot use the database 127\.0\.0\.1:\d+\/kinora of DATABASE_URL: /,
    )
  }
})

test('an unknown command or flag is named without the values of flags, which may be secrets', async () => {
  const mistakes: Array<[args: string[], complaint: string]> = [
    [['--api-key=canary', 'serve'], 'kinora: unknown command --api-key'],
    [['admin', '--token', 'canary', 'org', 'lst'], 'kinora admin: unknown command'],
    [['admin', 'org', 'lst', 'canary', '--token=canary'], 'kinora admin: unknown command org lst'],
    [['admin', 'org', 'list', '--token=canary'], "kinora admin org list: Unknown option '--token'"],
    [['admin', 'org', 'list', '--json', 'canary'], 'kinora admin org list: unexpected argument after a flag'],
    [['engines', '--json', 'canary'], 'kinora engines: unknown command'],
    [['serve', '--token', 'canary'], "kinora serve: Unknown option '--token'"],
    [['migrate', '--config', 'a', 'canary'], 'kinora migrate: unexpected argument after a flag'],
  ]
  for (const [args, complaint] of mistakes) {
    const { code, stderr } = args[0]!.startsWith('-') ? await runKinora(args) : await runCommand(args)
    assert.equal(code, 2)
    assert.equal(stderr.split(/\n|: put/, 1)[0], complaint)
    assert.doesNotMatch(stderr, /canary/)
  }
})

test('on a read-only PostgreSQL the admin commands that only read work, and the others say so in one sentence', async (t) => {
  const database = await testDatabase()
  t.after(database.close)
  await database.pool.query(
    "do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$",
  )
  const env = { DATABASE_URL: database.url, KINORA_DATA_DIR: join(dir, 'read-only') }
  const reading = [...COMMANDS].filter(
    ([, { records, storage, ...rest }]) => records === null && !storage && 'run' in rest,
  )
  assert.ok(reading.length > 5)
  for (const [read, { flags }] of reading) {
    // There is nothing by this id, which takes a query to find out.
    const { code, stderr } = await runCommand(['admin', ...read.split(' '), ...('id' in flags ? ['none'] : [])], env)
    if (code !== 0) assert.match(stderr, /There is no .* none\./, read)
  }
  assertSentence(
    await runCommand(['admin', 'org', 'create', '--name', 'A'], env),
    /Cannot use the database .*: The database is read-only\. Name the primary/,
  )
})

test('no admin command makes tables in a database that was never used: one sentence names it and the remedy', async () => {
  const empty = await emptyDatabase()
  const { pool, close } = openDb(empty.url)
  const blobs = join(dir, 'never', 'blobs')
  mkdirSync(blobs, { recursive: true })
  const env = { DATABASE_URL: empty.url, KINORA_DATA_DIR: join(dir, 'never') }
  try {
    // Another program's table of the same name.
    for (const other of ['select 1', 'create table schema_migrations (version text)']) {
      await pool.query(other)
      for (const command of other === 'select 1' ? ['audit', 'org create --name A', 'database adopt'] : ['org list']) {
        const ran = await runCommand(['admin', ...command.split(' ')], env)
        assertSentence(ran, /The database \S+kinora_empty_\S+ .*never been used.*DATABASE_URL.*kinora serve/)
      }
      const move = await runCommand(['admin', 'database', 'move', '--to', 'embedded'], env)
      assertSentence(move, /The database \S+kinora_empty_\S+ has never been used/)
      const { rows } = await pool.query("select tablename from pg_tables where schemaname = 'public'")
      assert.deepEqual(rows, other === 'select 1' ? [] : [{ tablename: 'schema_migrations' }])
    }
  } finally {
    await close()
    await empty.drop()
  }
})

test('a data directory that another service holds is reported in one sentence', async () => {
  const path = join(dir, 'taken')
  const held = openDataDir(path)
  try {
    for (const args of [['serve', '--port', '0'], ['migrate']]) {
      const ran = await runKinora([...args, '--data-dir', path], { cwd: dir })
      assertSentence(ran, /is in use by another service \(process \d+\)/)
    }
  } finally {
    held.release()
  }
})

test('a malformed command exits with 2 and its usage, never with a stack trace', async () => {
  for (const args of [
    ['migrate', '--nonsense'],
    ['migrate', 'now'],
    ['serve', '--nonsense'],
  ]) {
    const { code, stderr } = await runCommand(args)
    assert.equal(code, 2, args.join(' '))
    assert.match(stderr, /nonsense|now/)
    assert.doesNotMatch(stderr, /\n\s+at /)
  }
})

test('serve --help names the default and the environment variable of every flag', async () => {
  for (const flag of ['--help', '-h']) {
    const { code, stdout } = await runCommand(['serve', flag])
    assert.equal(code, 0)
    for (const [name, variable, otherwise] of [
      ['host', 'KINORA_HOST', '127.0.0.1'],
      ['port', 'KINORA_PORT', '8080'],
      ['data-dir', 'KINORA_DATA_DIR', '.kinora'],
      ['config', 'KINORA_CONFIG', 'none'],
      ['workers', 'KINORA_WORKERS', '1'],
    ]) {
      const line = stdout.split('\n').find((each) => each.startsWith(`  --${name} `)) ?? ''
      assert.ok(line.includes(`${variable}, else ${otherwise}`), `${name}: ${line}`)
    }
  }
})

test('--version prints the version and nothing else', async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const { code, stdout, stderr } = await runKinora(['--version'])
  assert.deepEqual([code, stdout, stderr], [0, `${version}\n`, ''])
})

test('demo refuses a directory for --out before it starts anything, and suggests a file name', async () => {
  const out = join(dir, 'clips')
  mkdirSync(out)
  const directory = await runCommand(['demo', '--out', out])
  assert.deepEqual([directory.code, directory.stdout], [2, ''])
  assert.ok(directory.stderr.includes(`--out ${out} is a directory. Name the file: ${join(out, 'kinora-demo.mp4')}`))
  const missing = await runCommand(['demo', '--out', join(dir, 'none', 'a.mp4')])
  assert.deepEqual([missing.code, missing.stdout], [2, ''])
  assert.ok(missing.stderr.includes(`there is no directory ${join(dir, 'none')}`))
})

test('credits grant names --note as required, in its help and in the error', async () => {
  const help = await runCommand(['admin', 'credits', 'grant', '--help'])
  assert.match(help.stdout, /--note <text> .*\(required\)/)
  const { code, stderr } = await runCommand(['admin', 'credits', 'grant', '--org', 'x', '--amount', '1'])
  assert.equal(code, 2)
  assert.match(stderr, /--note <text> is required/)
})

test('admin and migrate need no secret of an engine, and report no mistake in its entry', async () => {
  const path = join(dir, 'kinora.yaml')
  writeFileSync(
    path,
    `chat_models:
  - id: qwen
    engine: { kind: openai, base_url: "http://vllm:8000", api_key: "\${VLLM_KEY}", speed: fast }
    price_per_million: { input: "1", output: "1" }
login: { oidc: { name: a, issuer: "https://a.example", client_id: a, client_secret: "\${OIDC_SECRET}" } }
`,
  )
  const env = { DATABASE_URL: nowhere, KINORA_DATA_DIR: join(dir, 'secretless') }
  for (const command of [['admin', 'org', 'list'], ['migrate']]) {
    const { stderr } = await runCommand([...command, '--config', path], env)
    assert.match(stderr, /Cannot use the database/)
  }
  const serve = await runCommand(['serve', '--config', path], env)
  assert.match(serve.stderr, /VLLM_KEY is not set/)
  assert.ok(!existsSync(join(dir, 'secretless', 'postgres', 'PG_VERSION')))
})
