import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { probeFile } from '../../server/media/probe/probe.ts'
import { ended, printed, type Ran, runCommand, runKinora, startKinora } from '../support/command.ts'
import { samplePicture } from '../support/data/media.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { close, listen } from '../support/listen.ts'

const CONFIG = `
plans:
  free: { max_concurrent_renders: 1000 }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
  - { id: endless-1, engine: { kind: instant, render: endless }, per_second: "0.010000" }
  - { id: failing-1, engine: { kind: instant, render: permanent }, per_second: "0.010000" }
moderation: { engine: { kind: rules, deny: [forbidden] } }
`

let app: TestApp
let person: TestPerson
let dir: string
before(async () => {
  app = await startApp({ config: CONFIG, background: true })
  person = await newCustomer(app)
})
const root = process.cwd()
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-render-'))
  process.chdir(dir)
})
afterEach(() => {
  process.chdir(root)
  rmSync(dir, { recursive: true, force: true })
})
after(() => app.close())

test('a prompt becomes an MP4 named for its job, with path, size and cost on standard output and plain lines beside it', async () => {
  const { code, stdout, stderr } = await runKinora(['render', 'A paper boat', '--seconds', '4'], {
    env: env({}),
    cwd: dir,
  })
  assert.equal(code, 0, stderr)
  const [name] = readdirSync(dir)
  assert.match(name!, /^video_\w{26}\.mp4$/)
  assert.match(stdout, new RegExp(`^${join(dir, name!)}\\n12\\.3 kB, 0\\.04000000 usd\\n$`))
  assert.deepEqual((await probeFile(join(dir, name!), 'video')).video_codec, 'avc')
  assert.match(stderr, /^ {2}completed$/m)
  assert.ok(!stderr.includes('\x1b'))
})

test('--json prints one object, --out names the file, and an existing file is replaced whole', async () => {
  writeFileSync(join(dir, 'clip.mp4'), 'old')
  const { code, stdout } = await render(
    'A paper boat',
    '--out',
    'clip.mp4',
    '--json',
    '--model',
    'instant-1',
    '--aspect-ratio',
    '9:16',
  )
  assert.equal(code, 0)
  const printed = JSON.parse(stdout)
  const { id, ...rest } = printed
  const path = join(dir, 'clip.mp4')
  const size_bytes = readFileSync(path).length
  assert.deepEqual(rest, {
    status: 'completed',
    model: 'instant-1',
    seconds: 5,
    cost: '0.05000000',
    currency: 'usd',
    path,
    size_bytes,
  })
  assert.deepEqual(readdirSync(dir), ['clip.mp4'])
  assert.equal(
    (await app.database.db.selectFrom('video_jobs').select('aspect_ratio').where('id', '=', id).executeTakeFirst())
      ?.aspect_ratio,
    '9:16',
  )
})

test('frames and references are uploaded for their purpose and referred to in order', async () => {
  for (const name of ['first.png', 'last.png', 'one.png', 'two.png'])
    writeFileSync(join(dir, name), await samplePicture('png'))
  const frames = await render('A boat', '--first-frame', 'first.png', '--last-frame', 'last.png', '--json')
  assert.equal(frames.code, 0, frames.stderr)
  assert.deepEqual(await inputsOf(frames), [
    ['first_frame', 'first.png'],
    ['last_frame', 'last.png'],
  ])
  const references = await render('A boat', '--image', 'one.png', '--image', 'two.png', '--json')
  assert.equal(references.code, 0, references.stderr)
  assert.deepEqual(await inputsOf(references), [
    ['reference_image', 'one.png'],
    ['reference_image', 'two.png'],
  ])
})

test('a job that fails exits with 1, its code, its text, and no file', async () => {
  const { code, stdout, stderr } = await render('something forbidden', '--json')
  assert.equal(code, 1)
  assert.match(stderr, /kinora render: moderation_blocked: The request was rejected/)
  assert.deepEqual([JSON.parse(stdout).status, JSON.parse(stdout).cost], ['failed', '0.00000000'])
  assert.deepEqual(readdirSync(dir), [])
})

test('a refusal shows the error of the service, with the field and the remedy', async () => {
  const short = await render('A boat', '--seconds', '3')
  assert.equal(short.code, 1)
  assert.match(short.stderr, /kinora render: .*seconds.*4/)
  const outsider = await newCustomer(app, { agreed: false })
  const unagreed = await render('A boat', { KINORA_API_KEY: outsider.key })
  assert.equal(unagreed.code, 1)
  assert.match(
    unagreed.stderr,
    /Agree to the video terms .*\nSign in to the console at http:\S+\/ as the owner of this key/,
  )
  const unknown = await render('A boat', { KINORA_API_KEY: `kin_${'0'.repeat(36)}` })
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /Make a key in the console/)
})

test('a page in place of an answer, with whatever status, is one sentence', async (t) => {
  for (const status of [200, 404]) {
    const site = createServer((_, response) => response.writeHead(status, { 'content-type': 'text/html' }).end('<p>Hi'))
    t.after(() => close(site))
    const url = `http://127.0.0.1:${await listen(site)}`
    const { code, stderr } = await render('A boat', { KINORA_BASE_URL: url })
    assert.deepEqual(
      [code, stderr],
      [1, `kinora render: The answer was HTTP ${status}, and not from a Kinora service. Check KINORA_BASE_URL.\n`],
    )
  }
})

test('wrong usage exits with 2 before anything is sent', async () => {
  const cases: Array<[string[], RegExp]> = [
    [[], /the prompt is missing/],
    [['A', 'boat'], /more than one prompt/],
    [['A boat', '--first-frame', 'nowhere.png'], /--first-frame: there is no file nowhere\.png/],
    [['A boat', '--out', 'no/where/clip.mp4'], /there is no directory/],
    [['A boat', '--seconds', 'five'], /--seconds is not a whole number/],
    [['A boat', '--speed', '2'], /Unknown option '--speed'/],
  ]
  for (const [args, text] of cases) {
    const { code, stderr } = await render(...args, { KINORA_BASE_URL: 'http://127.0.0.1:9' })
    assert.equal(code, 2, stderr)
    assert.match(stderr, text)
  }
  const keyless = await render('A boat', { KINORA_API_KEY: '' })
  assert.deepEqual([keyless.code, /KINORA_API_KEY is not set/.test(keyless.stderr)], [2, true])
})

test('Ctrl-C cancels the job, which is not charged, and exits with 130', async () => {
  const child = startKinora(['render', 'A boat', '--model', 'endless-1'], { env: env({}), cwd: dir })
  const running = ended(child)
  const [, id] = await printed(child, 'stderr', /^(video_\w{26}) [\s\S]*in_progress/m)
  child.kill('SIGINT')
  const { code, stderr } = await running
  assert.equal(code, 130)
  assert.match(stderr, new RegExp(`${id} is canceled; nothing was billed`))
  const job = await app.database.db.selectFrom('video_jobs').select('status').where('id', '=', id!).executeTakeFirst()
  assert.equal(job?.status, 'canceled')
})

test('an answer that is lost on the way causes no second job', async () => {
  const lossy = await losingProxy(app.url)
  try {
    const count = async () => (await app.database.db.selectFrom('video_jobs').select('id').execute()).length
    const before = await count()
    const { code, stderr } = await render('A boat', { KINORA_BASE_URL: `${lossy.url}/v1/` })
    assert.equal(code, 0, stderr)
    assert.deepEqual([lossy.asked, await count()], [2, before + 1])
  } finally {
    lossy.close()
  }
})

async function render(...args: Array<string | NodeJS.ProcessEnv>): Promise<Ran> {
  const flags = args.filter((arg) => typeof arg === 'string')
  const given = args.find((arg) => typeof arg === 'object') ?? {}
  return runCommand(['render', ...flags], env(given))
}

function env(given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { KINORA_BASE_URL: app.url, KINORA_API_KEY: person.key, ...given }
}

async function inputsOf({ stdout }: Ran): Promise<string[][]> {
  const { db } = app.database
  const { id } = JSON.parse(stdout)
  const { inputs } = await db.selectFrom('video_jobs').select('inputs').where('id', '=', id).executeTakeFirstOrThrow()
  const files = await db.selectFrom('files').select(['id', 'filename']).execute()
  return inputs.map(({ role, file_id }) => [role, files.find((file) => file.id === file_id)!.filename])
}

/** Passes everything on, but drops the first answer to a created job. */
async function losingProxy(target: string): Promise<{ url: string; asked: number; close(): void }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const headers = Object.entries(request.headers).filter(
      ([name]) => !/^(host|connection|content-length|transfer-encoding)$/.test(name),
    )
    const body = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}
    const answer = await fetch(target + request.url, {
      method: request.method,
      headers: headers as Array<[string, string]>,
      ...body,
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    if (request.method === 'POST' && request.url === '/v1/videos' && proxy.asked++ === 0)
      return void request.socket.destroy()
    response
      .writeHead(answer.status, {
        'content-type': answer.headers.get('content-type') ?? '',
        'content-length': bytes.length,
      })
      .end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: 0,
    close: () => void server.close(),
  }
  return proxy
}
