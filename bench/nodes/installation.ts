import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownerOf } from '../../test/crash/kinora.ts'
import { testBucket } from '../../test/support/bucket/bucket.ts'
import { type Ran, runKinora } from '../../test/support/command.ts'
import { send } from '../../test/support/http/send.ts'
import { freePort } from '../../test/support/listen.ts'
import { type EngineServer, startEngineServer } from '../../test/support/upstream/engine-server/server.ts'
import { dialPostgres } from '../../test/support/upstream/postgres-proxy.ts'
import { type Relay, startRelay } from '../../test/support/upstream/relay.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { type Database, startDatabase } from './database.ts'
import { type Node, startNode } from './node.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { mountSmallDisk, type SmallDisk } from './small-disk.ts'

/** Two nodes behind a balancer, and all that they depend on, on loopback. */
export type Installation = {
  dir: string
  /** The API key of a member of its only organization. */
  key: string
  balancer: Balancer
  nodes: { a: Node; b: Node }
  database: Database
  engines: EngineServer
  receiver: Receiver
  /** The network to each dependency: to the database one of each node, the others of both. */
  network: { database: { a: Relay; b: Relay }; bucket: Relay; engine: Relay; receiver: Relay }
  /** Where the database and the files in progress of node a are; null without the right to mount. */
  disks: { database: SmallDisk; a: SmallDisk } | null
  /** Files that every node reads its secrets from. */
  secrets: { current: string; previous: string; engine_key: string }
  /** Something to end with the installation. */
  defer(stop: () => unknown): void
  /** Runs `kinora admin` as on node b. */
  admin(...args: string[]): Promise<Ran>
  close(): Promise<void>
}

/** Without a comma, which separates previous secrets. */
const FIRST_SECRET = 'a secret of both nodes and of nobody else'
/** Longer than the balancer needs to see that a node is not ready. */
const DRAIN_SECONDS = 3

/** `small_disks`: the database and node a have disks of their own that can be filled; needs the right to mount. */
export async function openInstallation({ small_disks = false } = {}): Promise<Installation> {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-nodes-'))
  const stops: Array<() => unknown> = []
  const defer = (stop: () => unknown) => void stops.push(stop)
  const close = async () => {
    for (const stop of stops.splice(0).reverse()) await stop()
  }
  try {
    const disks = small_disks
      ? { database: mountSmallDisk(join(dir, 'database')), a: mountSmallDisk(join(dir, 'a')) }
      : null
    for (const disk of Object.values(disks ?? {})) defer(disk.unmount)
    const dependencies = await startDependencies(dir, defer)
    const { network, receiver, storage } = dependencies
    const urls = { a: `http://127.0.0.1:${await freePort()}`, b: `http://127.0.0.1:${await freePort()}` }
    const balancer = await startBalancer(Object.values(urls))
    defer(balancer.stop)
    const secrets = writeSecrets(dir)
    const config = join(dir, 'kinora.yaml')
    writeFileSync(config, configOf({ public_url: balancer.url, engine_port: network.engine.port, storage }))
    const start = async (name: 'a' | 'b'): Promise<Node> => {
      const env = {
        DATABASE_URL: `postgres://kinora@127.0.0.1:${network.database[name].port}/kinora`,
        KINORA_CONFIG: config,
        KINORA_SECRET_FILE: secrets.current,
        KINORA_SECRET_PREVIOUS_FILE: secrets.previous,
        KINORA_DRAIN_SECONDS: String(DRAIN_SECONDS),
      }
      const node = await startNode({ name, dir, url: urls[name], env })
      defer(node.stop)
      return node
    }
    const nodes = { a: await start('a'), b: await start('b') }
    const { key } = await ownerOf({ data_dir: join(dir, 'a') }, balancer)
    receiver.trust(await listenForEvents(balancer.url, key, network.receiver.port))
    const admin = (...args: string[]) => runKinora(['admin', ...args], { env: nodes.b.env })
    return { ...dependencies, dir, key, balancer, nodes, disks, secrets, defer, admin, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Everything but the nodes and what is before them, and the network to it. */
async function startDependencies(dir: string, defer: Installation['defer']) {
  mkdirSync(join(dir, 'database'), { recursive: true })
  const database = await startDatabase(join(dir, 'database'))
  defer(database.close)
  const engines = await startEngineServer()
  defer(engines.close)
  const receiver = await startReceiver()
  defer(receiver.stop)
  const { endpoint, bucket, region, credentials } = await testBucket()
  const relayTo = async (dial: () => Socket) => {
    const relay = await startRelay(dial)
    defer(relay.close)
    return relay
  }
  const portOf = (url: string) => Number(new URL(url).port)
  const toDatabase = () => relayTo(() => dialPostgres(database.url))
  const network = {
    database: { a: await toDatabase(), b: await toDatabase() },
    bucket: await relayTo(() => connect(portOf(endpoint!), '127.0.0.1')),
    engine: await relayTo(() => connect(portOf(engines.url), '127.0.0.1')),
    receiver: await relayTo(() => connect(receiver.port, '127.0.0.1')),
  }
  const storage = { kind: 's3', endpoint: `http://127.0.0.1:${network.bucket.port}`, bucket, region, ...credentials }
  return { database, engines, receiver, network, storage }
}

function writeSecrets(dir: string): Installation['secrets'] {
  const secrets = {
    current: join(dir, 'secret'),
    previous: join(dir, 'secret.previous'),
    engine_key: join(dir, 'engine-key'),
  }
  writeFileSync(secrets.current, FIRST_SECRET, { mode: 0o600 })
  writeFileSync(secrets.previous, '', { mode: 0o600 })
  writeFileSync(secrets.engine_key, 'first-key', { mode: 0o600 })
  return secrets
}

function configOf(given: { public_url: string; engine_port: number; storage: object }): string {
  return `public_url: ${given.public_url}
storage: ${JSON.stringify(given.storage)}
webhooks: { allow_loopback: true }
plans: { free: { max_concurrent_renders: 100000 } }
first_run: { balance: "1000000.00" }
video_models:
  - id: outside-1
    engine: { kind: videos-api, dialect: openai, base_url: "http://127.0.0.1:${given.engine_port}", model: wan, api_key: "\${file:engine-key}" }
    per_second: "0.010000"
`
}

/** Returns the secret with which deliveries are signed. */
async function listenForEvents(url: string, key: string, port: number): Promise<string> {
  const event_types = ['video.canceled', 'response.incomplete', 'response.cancelled']
  for (const kind of ['video', 'response']) event_types.push(`${kind}.completed`, `${kind}.failed`)
  const endpoint = { name: 'run', url: `http://127.0.0.1:${port}/`, event_types }
  const made = await send({ url }, 'POST', '/v1/webhook_endpoints', { key }, endpoint)
  if (made.status !== 200) throw new Error(`no webhook endpoint: ${made.text}`)
  return made.body.signing_secret
}

/** Takes the directory away, with its logs. */
export function removeFiles({ dir }: Pick<Installation, 'dir'>): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}
