import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { probeFile } from '../../server/media/probe/probe.ts'
import { ended, printed, runKinora, startKinora } from '../support/command.ts'

const CONFIG = 'video_models:\n  - { id: instant-1, engine: instant, per_second: "0.010000" }\n'

let dir: string
let env: NodeJS.ProcessEnv
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'kd-'))
  mkdirSync(join(dir, 'tmp'))
  writeFileSync(join(dir, 'kinora.yaml'), CONFIG)
  env = { TMPDIR: join(dir, 'tmp'), KINORA_PORT: '1', KINORA_DATA_DIR: '/nowhere', DATABASE_URL: 'postgres://nowhere' }
})
after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))

test('after a demo that was killed, the demo goes from sign-in to an MP4, prints the cost, and leaves only the clip behind', async () => {
  const child = startKinora(['demo', '--config', 'kinora.yaml', '--keep'], { env, cwd: dir })
  const gone = ended(child)
  await printed(child, 'stdout', /agreed to/)
  child.kill('SIGKILL')
  await gone
  assert.equal(readdirSync(join(dir, 'tmp')).length, 1)

  const { code, stdout, stderr } = await runKinora(['demo', '--config', 'kinora.yaml'], { env, cwd: dir })
  assert.equal(code, 0, stderr + stdout)
  assert.match(stdout, /signed in +owner@kinora\.local\n +agreed to +video terms /)
  assert.match(stdout, /media +1366x768 h264\+aac, /)
  assert.match(stdout, /cost +0\.05000000 usd\n +balance +100\.00000000 before, 99\.95000000 after\n +console +http:/)
  assert.ok(!stdout.includes('\x1b'))
  const clip = join(dir, 'kinora-demo.mp4')
  assert.ok(stdout.includes(clip))
  assert.equal((await probeFile(clip, 'video')).audio_codec, 'aac')
  assert.deepEqual(readdirSync(join(dir, 'tmp')), [])
})

test('--keep leaves the service running until Ctrl-C, prints the login, and keeps the data', async () => {
  const child = startKinora(['demo', '--config', 'kinora.yaml', '--keep', '--out', 'kept.mp4'], { env, cwd: dir })
  const running = ended(child)
  const [, url] = await printed(child, 'stdout', /console +(http:\S+)\/\n[\s\S]*data +\S+\n/)
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  child.kill('SIGINT')
  const { code, stdout } = await running
  assert.equal(code, 0)
  const [, password, data] = /password +(\S+)\n[\s\S]*\n +data +(\S+)\n/.exec(stdout)!
  assert.ok(password && existsSync(join(data!, 'first-run.json')) && existsSync(join(dir, 'kept.mp4')))
})
