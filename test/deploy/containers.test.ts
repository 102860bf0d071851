import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseDocument } from 'yaml'
import { loadConfig } from '../../server/config/load.ts'
import { engineMistakes } from '../../server/engines/registry.ts'
import { tempDir } from '../support/service.ts'
import { filesMatching, ROOT } from '../support/sources.ts'

type Container = {
  image: string
  user?: string
  read_only?: boolean
  environment?: Record<string, string>
  secrets?: string[]
  stop_grace_period?: string
}
type Compose = { services: Record<string, Container>; secrets: Record<string, { file: string }> }

const manifest = JSON.parse(read('package.json'))
const dockerfile = read('Dockerfile')
const compose = parseDocument(read('deploy/compose.yaml'), { merge: true }).toJS() as Compose
const nodes = Object.entries(compose.services).filter(([name]) => name.startsWith('kinora-'))
/** Seconds that a node may take to stop beyond `drain_seconds`: for requests, then for what its workers do. */
const STOP_SECONDS = 30 + 40

test('every image is pinned, that of Kinora to its version, and that of Node to the one it is tested on', () => {
  const images = filesMatching(['deploy/**/*.yaml']).flatMap(({ text }) =>
    [...text.matchAll(/^ +(?:- )?image: (\S+)$/gm)].map(([, image]) => image!),
  )
  assert.ok(images.length >= 6)
  assert.deepEqual(
    images.filter((image) => !/:[\w.-]*\d[\w.-]*$/.test(image)),
    [],
  )
  const own = images.filter((image) => image.startsWith('kinora:'))
  assert.deepEqual([...new Set(own)], [`kinora:${manifest.version}`])
  assert.match(dockerfile, new RegExp(`^ARG NODE_IMAGE=node:${manifest.dependencies.node}-`, 'm'))
})

test('the image runs as a user of its own, without a shell, is stopped by SIGTERM and asked for its health', () => {
  const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))
  assert.match(last, /^USER 1000:1000$/m)
  assert.match(last, /^STOPSIGNAL SIGTERM$/m)
  assert.match(last, /^ENTRYPOINT \["node", "\/opt\/kinora\/bin\/kinora\.js"\]$/m)
  assert.match(last, /^ {2}CMD \["node", "-e", ".*\/healthz/m)
  const port = /KINORA_PORT=(\d+)/.exec(last)![1]
  assert.match(last, new RegExp(`^EXPOSE ${port}$`, 'm'))
})

test('the image is built from what the package has, and from no secret', () => {
  const lines = read('.dockerignore').split('\n')
  assert.ok(lines.includes('**') && lines.includes('**/.kinora') && lines.includes('deploy/secrets'))
  const kept = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  assert.deepEqual(
    kept.filter((path) => !readdirSync(ROOT).includes(path)),
    [],
  )
})

test('the two nodes of compose.yaml are read-only and have the same settings', () => {
  assert.equal(nodes.length, 2)
  const [first, second] = nodes.map(([, node]) => node)
  assert.deepEqual([first!.environment, first!.secrets], [second!.environment, second!.secrets])
  for (const [name, { read_only, environment, stop_grace_period }] of nodes) {
    assert.equal(read_only, true, name)
    const drain = Number(environment!.KINORA_DRAIN_SECONDS)
    assert.ok(Number.parseInt(stop_grace_period!, 10) >= drain + STOP_SECONDS, name)
  }
})

test('the secrets of compose.yaml are files that make-secrets.sh makes, private, once', (t) => {
  const { path: dir, remove } = tempDir()
  t.after(remove)
  const script = join(dir, 'make-secrets.sh')
  copyFileSync(join(ROOT, 'deploy', 'make-secrets.sh'), script)
  const made = () => {
    execFileSync('sh', [script])
    const names = Object.values(compose.secrets).map(({ file }) => join(dir, file))
    assert.deepEqual(
      names.filter((path) => (statSync(path).mode & 0o777) !== 0o600),
      [],
    )
    return names.map((path) => readFileSync(path, 'utf8'))
  }
  const first = made()
  assert.ok(first.every((text) => text.length >= 64))
  assert.deepEqual(made(), first)
  const used = Object.values(compose.services).flatMap(({ secrets = [] }) => secrets)
  assert.deepEqual([...new Set(used)].sort(), Object.keys(compose.secrets).sort())
})

test('every variable that a node is given is documented, or stands in kinora.yaml', () => {
  const known = read('docs/configuration.md') + read('deploy/kinora.yaml')
  const others = new Set(['PGPASSFILE', 'AWS_SHARED_CREDENTIALS_FILE', 'NODE_ENV'])
  const names = [
    ...nodes.flatMap(([, { environment }]) => Object.keys(environment!)),
    ...[...dockerfile.matchAll(/\b(KINORA_\w+)=/g), ...read('deploy/kinora.service').matchAll(/\b(KINORA_\w+)=/g)].map(
      ([, name]) => name!,
    ),
  ]
  assert.deepEqual(
    names.filter((name) => !others.has(name) && !known.includes(name)),
    [],
  )
})

test('deploy/kinora.yaml is a valid configuration of several nodes', () => {
  const env = { ...nodes[0]![1].environment, KINORA_PUBLIC_URL: 'https://kinora.example.com' }
  const file = { KINORA_CONFIG: join(ROOT, 'deploy', 'kinora.yaml'), KINORA_SECRET_FILE: undefined }
  const config = loadConfig({}, { ...env, ...file }, engineMistakes)
  assert.equal(config.storage.kind, 's3')
})

test('systemd waits as long as a node may take to stop', () => {
  const unit = read('deploy/kinora.service')
  assert.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1]) >= STOP_SECONDS + 5)
})

test('the guide and its reference pages name every file of deploy/', () => {
  const page = filesMatching(['docs/operating.md', 'docs/operating/*.md'])
    .map(({ text }) => text)
    .join('\n')
  const folders = readdirSync(join(ROOT, 'deploy'))
  assert.deepEqual(
    folders.filter((name) => !page.includes(`deploy/${name}`)),
    [],
  )
})

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
