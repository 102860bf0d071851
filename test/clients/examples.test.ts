import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { probeFile } from '../../server/media/probe/probe.ts'
import { ended, printed, type Ran, startKinora } from '../support/command.ts'
import { ROOT } from '../support/sources.ts'

/** The models the examples name, the video model answering at once. */
const CONFIG = 'video_models:\n  - { id: storyboard-1, engine: instant, per_second: "0.010000" }\n'

let dir: string
let service: ChildProcess
let url: string
let first: { email: string; password: string; api_key: string }
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-examples-'))
  writeFileSync(join(dir, 'kinora.yaml'), CONFIG)
  service = startKinora(['serve', '--port', '0', '--config', 'kinora.yaml'], { cwd: dir })
  url = (await printed(service, 'stdout', /kinora ready on (\S+)\n/))[1]!
  service.stdout!.resume()
  service.stderr!.resume()
  first = JSON.parse(readFileSync(join(dir, '.kinora', 'first-run.json'), 'utf8'))
  await agree()
})
after(async () => {
  const gone = ended(service)
  service.kill('SIGTERM')
  assert.equal((await gone).code, 0)
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
})

for (const [program, file] of [
  ['sh', 'chat.sh'],
  [process.execPath, 'chat.mjs'],
] as const) {
  test(`examples/${file} gets its answers`, async () => {
    const { code, stdout, stderr } = await run(program, file)
    assert.equal(code, 0, stderr + stdout)
    assert.match(stdout, /Paris/)
    assert.match(stdout, file === 'chat.sh' ? /data: \[DONE\]\n/ : /"celsius":21/)
  })
}

for (const [program, file] of [
  ['sh', 'video.sh'],
  [process.execPath, 'video.mjs'],
] as const) {
  test(`examples/${file} makes a clip`, async () => {
    rmSync(join(dir, 'clip.mp4'), { force: true })
    const { code, stdout, stderr } = await run(program, file)
    assert.equal(code, 0, stderr + stdout)
    const clip = await probeFile(join(dir, 'clip.mp4'), 'video')
    assert.deepEqual([clip.width, clip.height], [1366, 768])
  })
}

function run(program: string, file: string): Promise<Ran> {
  const { PATH } = process.env
  const env = { PATH, KINORA_BASE_URL: url, KINORA_API_KEY: first.api_key, POLL_SECONDS: '0.1' }
  return ended(spawn(program, [join(ROOT, 'examples', file)], { cwd: dir, env }))
}

/** Agrees to the video terms as the owner, which takes a console login. */
async function agree(): Promise<void> {
  const { email, password } = first
  const post = async (path: string, body: object, cookie = '') => {
    const headers = { 'content-type': 'application/json', origin: url, cookie }
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.equal(response.status, 200, await response.clone().text())
    return response
  }
  const login = await post('/console/auth/sign-in/email', { email, password })
  const cookie = login.headers.getSetCookie().map((text) => text.split(';', 1)[0]!)
  const state = await fetch(`${url}/v1/videos/acceptance`, { headers: { authorization: `Bearer ${first.api_key}` } })
  const { terms_version } = (await state.json()) as { terms_version: string }
  await post('/v1/videos/acceptance', { terms_version }, cookie.join('; '))
}
