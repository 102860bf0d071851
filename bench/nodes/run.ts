import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { cookieOf } from '../../test/support/http/people.ts'
import { send } from '../../test/support/http/send.ts'
import { startEngineServer } from '../../test/support/upstream/engine-server/server.ts'
import { startBalancer } from './balancer.ts'
import { startBucket } from './bucket.ts'
import { startDatabase } from './database.ts'
import { startLoad } from './load.ts'
import { DATABASE_ADDRESS, type Machine, openNetwork, SERVICES_ADDRESS } from './network.ts'
import { type Node, PORT, startNode } from './node.ts'
import { findBroken, untilQuiet } from './verify.ts'

/**
 * Two nodes behind nginx under load: each is killed in turn, then the network between one and the database is cut three times. Prints what
 * was promised and what became of it; exits with 1 when anything was lost, charged twice, never delivered or invented. For root on Linux,
 * with `ip` and `nginx`: `node bench/nodes/run.ts [--seconds 600] [--each 4]`.
 */
const OPTIONS = {
  seconds: { type: 'string', default: '600' },
  each: { type: 'string', default: '4' },
} as const
const { values } = parseArgs({ options: OPTIONS })
const KILL_EVERY_SECONDS = 20
const CUTS = 3
const CUT_SECONDS = 20
const RECEIVER_PORT = 9077
const MAIN = join(import.meta.dirname, '..', '..', 'server', 'main.ts')

const dir = mkdtempSync(join(tmpdir(), 'kinora-nodes-'))
const received_file = join(dir, 'received')
writeFileSync(received_file, '')
const network = openNetwork(['kin-a', 'kin-b'])
const stops: Array<() => unknown> = [network.close]
try {
  process.exitCode = await main()
} finally {
  for (const stop of stops.reverse()) await stop()
}

async function main(): Promise<number> {
  const database = await startDatabase(join(dir, 'database'), DATABASE_ADDRESS)
  stops.push(database.stop)
  const engines = await startEngineServer({ host: SERVICES_ADDRESS })
  stops.push(engines.close)
  const bucket = await startBucket(SERVICES_ADDRESS)
  stops.push(bucket.stop)
  const { machines } = network
  const balancer = await startBalancer(
    dir,
    machines.map(({ address }) => `${address}:${PORT}`),
  )
  stops.push(balancer.stop)
  const config = join(dir, 'kinora.yaml')
  writeFileSync(config, configOf({ public_url: balancer.url, engines: engines.url, storage: bucket.storage }))
  const env = {
    DATABASE_URL: database.url,
    KINORA_SECRET: 'a secret of both nodes, and of nobody else',
    KINORA_LOG_LEVEL: 'warn',
  }
  const nodes: Node[] = []
  for (const machine of machines) {
    const node = await startNode(machine, { dir, config, env })
    nodes.push(node)
    stops.push(node.stop)
  }
  const owner = await ownerOf(balancer.url)
  const secret = await listenForEvents(balancer.url, owner.key)
  for (const machine of machines) stops.push(startReceiver(machine, secret))

  const load = startLoad({ url: balancer.url, key: owner.key }, { each: Number(values.each) })
  const kills = await killInTurn(nodes, Number(values.seconds))
  await cutInTurn(nodes[1]!.machine)
  await load.stop()
  const pool = new pg.Pool({ connectionString: database.url, max: 2 })
  stops.push(() => pool.end())
  await untilQuiet(pool, 900)
  const broken = await findBroken(pool, load.seen, { received_file })
  const audit = spawnSync(
    process.execPath,
    [MAIN, 'admin', 'audit', '--config', config, '--data-dir', join(dir, 'kin-a')],
    {
      env: { ...process.env, ...env },
      encoding: 'utf8',
    },
  )
  const { videos, responses, chats, answers } = load.seen
  const crashes = nodes.map((node) => node.crashes())
  print({ kills, cuts: CUTS, videos: videos.size, responses: responses.size, chats: chats.size })
  print({
    delivered: readFileSync(received_file, 'utf8').split('\n').length - 1,
    answers: Object.fromEntries(answers),
    crashes,
  })
  for (const each of broken.slice(0, 50)) console.log(`broken: ${each}`)
  console.log(`${broken.length} broken promises; audit exit ${audit.status}`)
  if (audit.status !== 0) console.log(audit.stdout, audit.stderr)
  console.log(`logs: ${dir}`)
  return broken.length === 0 && audit.status === 0 && crashes.every((n) => n === 0) ? 0 : 1
}

function configOf({ public_url, engines, storage }: { public_url: string; engines: string; storage: string }): string {
  return `public_url: ${public_url}
engine_url: http://${SERVICES_ADDRESS}
storage: ${storage}
trusted_proxies: [10.77.0.0/16]
webhooks: { allow_loopback: true }
plans: { free: { max_concurrent_renders: 100000 } }
first_run: { balance: "1000000.00" }
video_models:
  - { id: outside-1, engine: { kind: videos-api, dialect: openai, base_url: "${engines}", model: wan }, per_second: "0.010000" }
`
}

async function ownerOf(url: string): Promise<{ key: string }> {
  const run = JSON.parse(readFileSync(join(dir, 'kin-a', 'first-run.json'), 'utf8')) as Record<string, string>
  const body = { email: run.email, password: run.password }
  const cookie = cookieOf(await send({ url }, 'POST', '/console/auth/sign-in/email', {}, body))
  const terms = await send({ url }, 'GET', '/v1/videos/acceptance', { cookie })
  await send({ url }, 'POST', '/v1/videos/acceptance', { cookie }, { terms_version: terms.body.terms_version })
  return { key: run.api_key! }
}

/** Returns the secret with which deliveries are signed. */
async function listenForEvents(url: string, key: string): Promise<string> {
  const ends = ['completed', 'failed']
  const event_types = ['video.canceled', 'response.incomplete', 'response.cancelled']
  for (const kind of ['video', 'response']) event_types.push(...ends.map((end) => `${kind}.${end}`))
  const endpoint = { name: 'run', url: `http://127.0.0.1:${RECEIVER_PORT}/`, event_types }
  const made = await send({ url }, 'POST', '/v1/webhook_endpoints', { key }, endpoint)
  if (made.status !== 200) throw new Error(`no webhook endpoint: ${JSON.stringify(made.body)}`)
  return made.body.signing_secret
}

function startReceiver(machine: Machine, secret: string): () => Promise<void> {
  const script = join(import.meta.dirname, 'receiver.ts')
  const [program, args] = machine.command(process.execPath, [script, String(RECEIVER_PORT), received_file, secret])
  const child: ChildProcess = spawn(program, args, { stdio: 'inherit' })
  return async () => {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
  }
}

async function killInTurn(nodes: readonly Node[], seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000
  let kills = 0
  for (; performance.now() < until; kills++) {
    await pause(KILL_EVERY_SECONDS * 1000)
    await nodes[kills % nodes.length]!.kill()
    console.log(`killed ${nodes[kills % nodes.length]!.machine.name}`)
  }
  return kills
}

async function cutInTurn(machine: Machine): Promise<void> {
  for (let i = 0; i < CUTS; i++) {
    await pause(KILL_EVERY_SECONDS * 1000)
    machine.cut()
    console.log(`cut ${machine.name} off the database`)
    await pause(CUT_SECONDS * 1000)
    machine.mend()
  }
  await pause(KILL_EVERY_SECONDS * 1000)
}

function print(figures: object): void {
  console.log(JSON.stringify(figures))
}
