import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ROOT } from '../support/sources.ts'

// What CONTRIBUTING.md promises: an engine is one file, one line of the registry and one page. In a copy of the tree, so that nothing else
// can be touched by accident.

const CONFIG = `video_models:
  - { id: clips, per_second: "0.01", engine: { kind: made-up, color: blue } }
chat_models: []
`

const ADAPTER = `import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import Type from 'typebox'
import { EngineError } from '../engine-error.ts'
import type { Capabilities, JsonValue, VideoEngine } from './contract.ts'
import { refuseUnsupported } from './refuse-unsupported.ts'

export const MadeUpOptions = Type.Object(
  { kind: Type.Literal('made-up'), color: Type.Enum(['red', 'blue']) },
  { additionalProperties: false },
)
export type MadeUpOptions = Type.Static<typeof MadeUpOptions>

const CAN: Capabilities = {
  modes: new Set(['text']),
  references_max: { images: 0, videos: 0, audio: 0, files: 0 },
  seconds: [5, 7],
  aspect_ratios: new Set(['16:9']),
  auto_aspect_ratio: false,
  media: 'bytes',
  audio_out: true,
  cancel: 'any',
  idempotency: 'client_id',
}

export function madeUpVideo(_: MadeUpOptions): VideoEngine {
  const requireOwn = (ticket: JsonValue) => {
    if (typeof ticket !== 'string') throw new EngineError('permanent', 'The ticket is of another engine.')
  }
  return {
    capabilities: () => CAN,
    async start(request) {
      refuseUnsupported(request, CAN)
      return request.attempt_id
    },
    async poll(ticket) {
      requireOwn(ticket)
      return { state: 'succeeded', output: null }
    },
    async fetch() {
      return Readable.toWeb(createReadStream(new URL('./instant.mp4', import.meta.url))) as ReadableStream<Uint8Array>
    },
    async cancel(ticket) {
      requireOwn(ticket)
      return true
    },
  }
}
`

let tree: string
before(() => {
  tree = mkdtempSync(join(tmpdir(), 'kinora-made-up-'))
  for (const part of [
    'server',
    'docs',
    'examples',
    'bin',
    'package.json',
    'test/repo/engine-pages.test.ts',
    'test/support/sources.ts',
  ])
    cpSync(join(ROOT, part), join(tree, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  writeFileSync(join(tree, 'server/engines/video/made-up.ts'), ADAPTER)
  const registry = join(tree, 'server/engines/registry.ts')
  const line = "    ['made-up', kind(MadeUpOptions, madeUpVideo)],\n"
  const text = readFileSync(registry, 'utf8').replace(/^(?= {4}\['instant', kind)/m, line)
  writeFileSync(registry, `import { MadeUpOptions, madeUpVideo } from './video/made-up.ts'\n${text}`)
  writeFileSync(join(tree, 'kinora.yaml'), CONFIG)
})
after(() => rmSync(tree, { recursive: true, force: true }))

/** Runs the tree's own programs with nothing of this process's environment but where things are. */
function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR }
  return spawnSync(process.execPath, args, { cwd: tree, env, encoding: 'utf8' })
}

test('the suite of all video engines and the capabilities pick a new engine up from its file and its line', () => {
  const { status, stdout, stderr } = run(
    'server/main.ts',
    'engines',
    'check',
    'clips',
    '--config',
    'kinora.yaml',
    '--json',
  )
  assert.equal(status, 0, stdout + stderr)
  const { engines } = JSON.parse(stdout) as {
    engines: Array<{ kind: string; checks: Array<{ title: string; outcome: string; detail: string }> }>
  }
  const [{ kind, checks }] = engines as [(typeof engines)[number]]
  assert.equal(kind, 'made-up')
  assert.ok(checks.filter(({ outcome }) => outcome === 'holds').length >= 6, JSON.stringify(checks))
  assert.equal(checks[0]!.detail, 'text; 5 to 7 s; cancel: any')
})

test('its options are checked with their line, as those of any other', () => {
  writeFileSync(join(tree, 'wrong.yaml'), CONFIG.replace('blue', 'green'))
  const { status, stderr } = run('server/main.ts', 'engines', 'check', '--config', 'wrong.yaml')
  assert.equal(status, 1)
  assert.match(stderr, /wrong\.yaml:2 video_models\[0\]\.engine\.color: /)
})

test('the check of the documents asks for its page, and is content with it', () => {
  const missing = run('--test', 'test/repo/engine-pages.test.ts')
  assert.equal(missing.status, 1)
  assert.match(missing.stdout, /video made-up/)
  assert.match(missing.stdout, /video made-up: color/)
  const page = `# made-up\n\n| Option | Meaning |\n|---|---|\n| \`color\` | Of the clip |\n\n\`\`\`yaml\n${CONFIG}\`\`\`\n`
  writeFileSync(join(tree, 'docs/engines/made-up.md'), page)
  const readme = join(tree, 'docs/engines/README.md')
  const row = '| [made-up](made-up.md) | video, `made-up` | Nowhere | Blue clips |\n'
  writeFileSync(readme, readFileSync(readme, 'utf8').replace(/^(?=\| \[videos-api\])/m, row))
  const complete = run('--test', 'test/repo/engine-pages.test.ts')
  assert.equal(complete.status, 0, complete.stdout)
})
