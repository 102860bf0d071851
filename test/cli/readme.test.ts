import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { probeFile } from '../../server/media/probe/probe.ts'
import { ended, KINORA, printed, startKinora } from '../support/command.ts'
import { prepareDatabase } from '../support/data/prepared.ts'
import { ROOT } from '../support/sources.ts'

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
const commands = readFileSync(join(ROOT, 'docs', 'cli.md'), 'utf8')
/** As the README has it, but with an engine that answers at once. */
const CONFIG = 'video_models:\n  - { id: storyboard-1, engine: instant, per_second: "0.010000" }\n'

let dir: string
let service: ChildProcess
let url: string
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-readme-'))
  writeFileSync(join(dir, 'kinora.yaml'), CONFIG)
  mkdirSync(join(dir, '.kinora'))
  await prepareDatabase(join(dir, '.kinora', 'postgres'))
  service = startKinora(['serve', '--port', '0', '--config', 'kinora.yaml'], { cwd: dir })
  url = (await printed(service, 'stdout', /kinora ready on (\S+)\n/))[1]!
  service.stdout!.resume()
  service.stderr!.resume()
})
after(async () => {
  const gone = ended(service)
  service.kill('SIGTERM')
  assert.equal((await gone).code, 0)
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
})

test('the curl commands of the README lead from the first run to an MP4', async () => {
  const script = blockAfter('<!-- test: quick start -->').replaceAll('http://127.0.0.1:8080', url)
  const { code, stdout, stderr } = await ended(spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd: dir }))
  assert.equal(code, 0, stderr + stdout)
  const clip = await probeFile(join(dir, 'clip.mp4'), 'video')
  assert.deepEqual([clip.width, clip.height, clip.video_codec, clip.audio_codec], [1366, 768, 'avc', 'aac'])
  assert.match(stdout, /"accepted":true/)
})

test('the program of the README chats and makes a clip with the official client', async () => {
  const { api_key } = JSON.parse(readFileSync(join(dir, '.kinora', 'first-run.json'), 'utf8'))
  const program = blockAfter('<!-- test: node client -->').replaceAll(
    "'clip.mp4'",
    JSON.stringify(join(dir, 'sdk.mp4')),
  )
  const env = { PATH: process.env.PATH, KINORA_BASE_URL: url, KINORA_API_KEY: api_key }
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: ROOT, env })
  const { code, stdout, stderr } = await ended(child)
  assert.equal(code, 0, stderr)
  assert.ok(stdout.length > 0)
  assert.equal((await probeFile(join(dir, 'sdk.mp4'), 'video')).width, 1366)
})

test('the configuration shown in the README is valid', async () => {
  writeFileSync(join(dir, 'shown.yaml'), /```yaml\n([\s\S]*?)```/.exec(readme)![1]!)
  const { loadConfig } = await import('../../server/config/load.ts')
  const { engineMistakes } = await import('../../server/engines/registry.ts')
  const config = loadConfig({ config: join(dir, 'shown.yaml') }, { MODERATION_KEY: 'key' }, engineMistakes)
  assert.equal(config.video_models[0]!.id, 'h3')
})

test('the admin commands of docs/cli.md work beside the running service', async () => {
  const script = blockAfter('<!-- test: admin -->', commands).replaceAll('npx kinora', `${process.execPath} ${KINORA}`)
  const { code, stdout, stderr } = await ended(spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd: dir }))
  assert.equal(code, 0, stderr + stdout)
  assert.match(stdout, /kin_\w{36}/)
})

test('every npm script the README shows exists', () => {
  const shown = [...readme.matchAll(/^npm ci && npm (?:run )?(\w+)$/gm)].map(([, script]) => script!)
  assert.deepEqual(shown, ['demo', 'start'])
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const script of shown) assert.ok(scripts[script], script)
})

function blockAfter(marker: string, page = readme): string {
  const [, rest] = page.split(marker)
  return /^\n```\w+\n([\s\S]*?)^```$/m.exec(rest ?? '')?.[1] ?? assert.fail(`the page has no ${marker}`)
}
