import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { printed, startKinora } from '../support/command.ts'
import { type HttpResponse, send } from '../support/http/send.ts'
import { freePort } from '../support/listen.ts'
import { sharedSite } from '../support/sites/nodes.ts'
import { postgresProxy } from '../support/upstream/postgres-proxy.ts'
import { ownerOf, submit } from './kinora.ts'

const INSTANT = 'video_models: [{ id: outside-1, engine: instant, per_second: "0.010000" }]'

let home: string
before(() => {
  home = mkdtempSync(join(tmpdir(), 'kinora-nodes-'))
})
after(() => rmSync(home, { recursive: true, force: true }))

/** Starts the real program as one node. `ended` resolves with its exit code. */
function startNode(name: string, env: NodeJS.ProcessEnv, ...args: string[]) {
  const data_dir = join(home, name)
  const child = startKinora(['serve', '--port', '0', '--data-dir', data_dir, ...args], { env })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const ready = printed(child, 'stdout', /kinora ready on (\S+)/).then(([, url]) => ({ url: url! }))
  ready.catch(() => {})
  return { child, ended, ready, data_dir }
}

/** Asks until the answer is as wanted; throws after half a minute. */
async function until(
  at: { url: string; key?: string },
  path: string,
  wanted: (answer: { status: number; body: HttpResponse['body'] }) => boolean,
) {
  const late = performance.now() + 30_000
  for (;;) {
    const answer = await send(at, 'GET', path, at.key ? { key: at.key } : {}).catch(() => null)
    if (answer && wanted(answer)) return answer
    assert.ok(performance.now() < late, `${path}: ${JSON.stringify(answer)}`)
    await pause(50)
  }
}

test('a start waits for PostgreSQL and for the migration of another node: alive, unready with the reason, then ready; SIGTERM ends it', async () => {
  const site = await sharedSite(home)
  const network = await postgresProxy(site.database_url)
  const other = new pg.Client({ connectionString: site.database_url })
  await other.connect()
  try {
    network.cut()
    const port = String(await freePort())
    const at = { url: `http://127.0.0.1:${port}` }
    const node = startNode('patient', site.env({ DATABASE_URL: network.url }), '--port', port)
    const [line] = await printed(node.child, 'stderr', /.*waiting_for_database.*/)
    assert.match(line, /Cannot use the database .* yet: .*goes on waiting.*answered on port \d+/)
    assert.deepEqual((await send(at, 'GET', '/healthz')).status, 200)
    const unready = await send(at, 'GET', '/readyz')
    assert.deepEqual([unready.status, unready.body.reason, unready.headers.get('retry-after')], [503, 'database', '1'])
    assert.equal((await send(at, 'GET', '/v1/models')).body.error.code, 'server_is_overloaded')

    await other.query('select pg_advisory_lock(7301950142)')
    network.restore()
    const migrating = await until(at, '/readyz', ({ body }) => body.reason === 'migrating')
    assert.equal(migrating.status, 503)
    await other.query('select pg_advisory_unlock(7301950142)')
    assert.deepEqual(await node.ready, at, 'the address stays')
    assert.equal((await until(at, '/readyz', ({ status }) => status === 200)).body.reason, null)
    node.child.kill('SIGTERM')
    assert.equal(await node.ended, 0)

    network.cut()
    const given_up = startNode('impatient', site.env({ DATABASE_URL: network.url }))
    await printed(given_up.child, 'stderr', /waiting_for_database/)
    given_up.child.kill('SIGTERM')
    assert.equal(await given_up.ended, 0)
  } finally {
    await other.end()
    await network.close()
    await site.drop()
  }
})

test('an api node takes a job, a worker node runs it; a node that stops still answers, unready, until a second signal', async () => {
  const site = await sharedSite(home, ['public_url: http://kinora.test', INSTANT])
  const env = site.env({ KINORA_DRAIN_SECONDS: '300' })
  const api = startNode('api', env, '--role', 'api', '--workers', '2')
  const worker = startNode('worker', env, '--role', 'worker')
  try {
    const [at, beside] = await Promise.all([api.ready, worker.ready])
    const refused = await send(beside, 'GET', '/v1/models')
    assert.deepEqual([refused.status, /This node runs jobs/.test(refused.body.error.message)], [404, true])
    assert.equal((await send(beside, 'GET', '/readyz')).status, 200)

    const { key } = await ownerOf(api, at)
    const job = await submit(at, key, { prompt: 'A boat between two nodes' })
    await until({ ...at, key }, `/v1/videos/${job!.id}`, ({ body }) => body.status === 'completed')

    for (const [node, url] of [[api, at] as const, [worker, beside] as const]) {
      node.child.kill('SIGTERM')
      await until(url, '/readyz', ({ status, body }) => status === 503 && body.reason === 'draining')
      assert.equal((await send(url, 'GET', '/healthz')).status, 200)
    }
    assert.equal((await send(at, 'GET', '/v1/models', { key })).status, 200)
    for (const { child } of [api, worker]) child.kill('SIGTERM')
    assert.deepEqual(await Promise.all([api.ended, worker.ended]), [0, 0])
  } finally {
    for (const { child } of [api, worker]) child.kill('SIGKILL')
    await site.drop()
  }
})
