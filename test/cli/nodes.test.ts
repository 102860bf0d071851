import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { runCommand } from '../support/command.ts'
import { dataDir, emptyDatabase, type TestDir } from '../support/data/data-dir.ts'
import { type SharedSite, sharedSite } from '../support/sites/nodes.ts'

const NEW = 'a new secret of every node that is long enough'

let home: string
let site: SharedSite
const dirs: TestDir[] = []
before(async () => {
  home = mkdtempSync(join(tmpdir(), 'kinora-nodes-'))
  site = await sharedSite(home, ['public_url: https://kinora.example.com'])
})
after(async () => {
  for (const dir of dirs) await dir.remove()
  await site.drop()
  rmSync(home, { recursive: true, force: true })
})

function newDir(): TestDir {
  const dir = dataDir()
  dirs.push(dir)
  return dir
}

const secretOf = ({ KINORA_SECRET }: NodeJS.ProcessEnv) => KINORA_SECRET!

test('several nodes run on one database and one bucket; one that would keep its files on a disk is refused with the remedy', async () => {
  const old = secretOf(site.env())
  const [first, second] = [newDir(), newDir()]
  const both = await Promise.all([first.serve(site.env()), second.serve(site.env())])
  try {
    const disk = join(home, 'disk.yaml')
    writeFileSync(disk, 'public_url: https://kinora.example.com\n')
    await assert.rejects(
      newDir().serve(site.env({ KINORA_CONFIG: disk })),
      /StartError: .*belongs to another data directory or bucket/,
    )

    const env = { DATABASE_URL: site.database_url, KINORA_DATA_DIR: join(home, '.kinora') }
    const { stdout } = await runCommand(['admin', 'nodes', '--json'], env)
    const { data } = JSON.parse(stdout) as { data: Array<Record<string, unknown>> }
    assert.deepEqual(
      data.map(({ role, state, connections }) => ({ role, state, connections })),
      Array.from({ length: 2 }, () => ({ role: 'all', state: 'alive', connections: 12 })),
    )
    const places = [first.path, second.path].sort()
    assert.deepEqual(data.map(({ data_dir }) => data_dir).sort(), places, 'two nodes of one host are distinguished')
    assert.match((await runCommand(['admin', 'secret', 'forget'], env)).stderr, /2 nodes run.*Stop every node first/)

    const late = newDir()
    await assert.rejects(late.serve(site.env({ KINORA_SECRET: NEW })), /StartError: .*used with a secret/)
    await assert.rejects(late.serve(site.env({ KINORA_SECRET: undefined })), /StartError: .*used with a secret/)
    assert.ok(!existsSync(join(late.path, 'secret')), 'a start that is refused leaves no secret behind')
    const early = site.env({ KINORA_SECRET: NEW, KINORA_SECRET_PREVIOUS: old })
    await assert.rejects(late.serve(early), /StartError: .*first add the new secret to KINORA_SECRET_PREVIOUS/)
  } finally {
    for (const each of both) await each.stop()
  }
})

test('a command without DATABASE_URL on the directory of a node asks for it, and makes no database of its own', async () => {
  const dir = newDir()
  const serving = await dir.serve(site.env())
  await serving.stop()
  const { code, stderr } = await runCommand(['admin', 'audit', '--data-dir', dir.path])
  assert.equal(code, 1)
  assert.match(stderr, /has no database of its own.*Set DATABASE_URL/)
  assert.deepEqual(readdirSync(join(dir.path, 'postgres')), [])
})

test('a second node is refused without public_url, and a node that has stopped does not count', async () => {
  const bare = await sharedSite(mkdtempSync(join(home, 'bare-')))
  const first = newDir()
  const serving = await first.serve(bare.env())
  await assert.rejects(newDir().serve(bare.env()), /StartError: Another node runs.*Set public_url/)
  await serving.stop()
  await (await newDir().serve(bare.env())).stop()
  await bare.drop()
})

test('a node with files on its disk keeps every other one off its database, and one that shares a bucket too', async () => {
  const alone = await emptyDatabase()
  const serving = await newDir().serve({ DATABASE_URL: alone.url })
  const bucket = await sharedSite(mkdtempSync(join(home, 'beside-')))
  const beside = bucket.env({ DATABASE_URL: alone.url })
  await assert.rejects(
    newDir().serve(beside),
    /StartError: The database of DATABASE_URL belongs to another .*or bucket/,
  )
  await serving.stop()
  await alone.drop()
  await bucket.drop()
})

test('a role for one of several nodes is refused where there can be no others', async () => {
  await assert.rejects(
    newDir().serve({ KINORA_ROLE: 'api' }),
    /StartError: The role api .*set DATABASE_URL and storage/,
  )
  await assert.rejects(newDir().serve({ KINORA_ROLE: 'boss' }), /KINORA_ROLE: must be one of api, worker, all/)
})

test('a database that does not exist is refused at once, not waited for', async () => {
  const url = new URL(site.database_url)
  url.pathname = '/kinora_no_such'
  await assert.rejects(newDir().serve({ DATABASE_URL: url.href }), /StartError: .*kinora_no_such/)
})
