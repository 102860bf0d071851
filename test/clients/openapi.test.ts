import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { samplePicture } from '../support/data/media.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { storedFile } from '../support/http/videos-app.ts'
import { ROOT } from '../support/sources.ts'

const MODULES = join(ROOT, 'test/clients/openapi/node_modules')
const INSTALL = 'The OpenAPI clients are not installed: npm ci --prefix test/clients/openapi'
/** Without `KINORA_ALL_CLIENTS` these are left out where they are not installed: they need a TypeScript of their own. */
const skip = existsSync(MODULES) || process.env.KINORA_ALL_CLIENTS !== undefined ? false : INSTALL
const run = promisify(execFile)

let app: TestApp
let person: TestPerson
let dir: string
before(async () => {
  if (skip) return
  assert.ok(existsSync(MODULES), INSTALL)
  app = await startApp({
    config: `
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
chat_models:
  - { id: sandbox-1, engine: sandbox, price_per_million: { input: "1", output: "1" } }
`,
  })
  person = await newCustomer(app)
  dir = mkdtempSync(join(tmpdir(), 'kinora-openapi-'))
  symlinkSync(MODULES, join(dir, 'node_modules'))
})
after(async () => {
  await app?.close()
  if (dir) rmSync(dir, { recursive: true, force: true })
})

test('openapi-schema-validator finds nothing wrong with the document', { skip }, async () => {
  const { Validator } = await import(join(MODULES, '@seriousme/openapi-schema-validator/index.js'))
  const validator = new Validator()
  // biome-ignore lint/suspicious/noExplicitAny: one member deep within is made wrong below.
  const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as any
  const { valid, errors } = await validator.validate(structuredClone(document))
  assert.ok(valid, JSON.stringify(errors))
  assert.equal(validator.version, '3.1')
  document.paths['/v1/videos'].post.responses['200'].headers['x-request-id'].required = 'yes'
  assert.equal((await validator.validate(document)).valid, false)
})

test('a client that openapi-typescript generates type-checks and creates, polls, chats and uploads', {
  skip,
}, async () => {
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  writeFileSync(join(dir, 'program.ts'), PROGRAM)
  const node = (script: string, ...args: string[]) =>
    run(process.execPath, [script, ...args], { cwd: dir, env: { ...process.env, KEY: person.key, URL_OF: app.url } })
  await node(join(MODULES, 'openapi-typescript/bin/cli.js'), `${app.url}/openapi.json`, '-o', 'api.ts')
  const strict = ['--strict', '--noEmit', '--skipLibCheck', '--target', 'es2024', '--module', 'nodenext']
  await node(join(MODULES, 'typescript/bin/tsc'), ...strict, '--allowImportingTsExtensions', 'program.ts').catch(
    (error: { stdout: string }) => assert.fail(error.stdout),
  )
  const image = await storedFile(app, person)
  const { stdout } = await node('program.ts', image, Buffer.from(await samplePicture('png')).toString('base64'))
  assert.deepEqual(JSON.parse(stdout), {
    file: 'note.png',
    created: ['moderating', 'moderating'],
    poll: [10000, 'moderating', 304],
    said: 'assistant',
    streamed: 'chat.completion.chunk',
    refused: [400, 'seconds'],
  })
  const jobs = await app.database.db.selectFrom('video_jobs').select('inputs').orderBy('id').execute()
  assert.deepEqual(
    jobs.map(({ inputs }) => inputs.map(({ role, file_id }) => [role, file_id])),
    [[], [['first_frame', image]]],
  )
})

/** Every assignment to a typed name is checked by the compiler. */
const PROGRAM = `
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

declare const process: { env: Record<string, string | undefined>; argv: string[] }
const client = createClient<paths>({ baseUrl: process.env.URL_OF!, headers: { authorization: 'Bearer ' + process.env.KEY } })
const body = { model: 'instant-1', prompt: 'A paper boat', seconds: 4, aspect_ratio: '16:9' } as const
const image = process.argv[2]!

/** What generated clients make of a form: parts of JSON for objects. */
function formOf(fields: object): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    form.append(name, typeof value === 'object' ? new Blob([JSON.stringify(value)], { type: 'application/json' }) : String(value))
  return form
}

const params = { header: { 'Idempotency-Key': 'once' } }
const plain = await client.POST('/v1/videos', { params, body: { ...body, references: null } })
const job: components['schemas']['Video'] = plain.data!
const frame = { ...body, image_reference: [{ file_id: image, role: 'first_frame' as const }] }
const framed = await client.POST('/v1/videos', { body: frame, bodySerializer: formOf })

const path = { video_id: job.id }
const read = await client.GET('/v1/videos/{video_id}', { params: { path } })
const completed_at: number | null = read.data!.completed_at
const again = await client.GET('/v1/videos/{video_id}', {
  params: { path, header: { 'If-None-Match': read.response.headers.get('etag')! } },
  parseAs: 'text',
})
const wait: paths['/v1/videos/{video_id}']['get']['responses'][200]['headers']['openai-poll-after-ms'] = Number(
  read.response.headers.get('openai-poll-after-ms'),
)

const upload = new FormData()
upload.set('purpose', 'vision')
upload.set('file', new Blob([Uint8Array.from(atob(process.argv[3]!), (each) => each.charCodeAt(0))]), 'note.png')
const file = await client.POST('/v1/files', { body: { purpose: 'vision', file: '' }, bodySerializer: () => upload })

const asked = { model: 'sandbox-1', messages: [{ role: 'user' as const, content: 'Hi' }] }
const chat = await client.POST('/v1/chat/completions', { body: asked })
const completion = chat.data as components['schemas']['ChatCompletion']
const stream = await client.POST('/v1/chat/completions', { body: { ...asked, stream: true }, parseAs: 'text' })
type ChatEvent = paths['/v1/chat/completions']['post']['responses'][200]['content']['text/event-stream']
const first = JSON.parse(String(stream.data).split('\\n')[0]!.slice('data: '.length)) as ChatEvent
if ('error' in first) throw new Error(first.error.message)

export function textOf(event: components['schemas']['ResponseStreamEvent']): string {
  return event.type === 'response.output_text.delta' ? event.delta : ''
}

const refused = await client.POST('/v1/videos', { body: { ...body, seconds: 99 } })
// @ts-expect-error: the document requires a prompt.
const incomplete: paths['/v1/videos']['post']['requestBody']['content']['application/json'] = { model: 'instant-1', seconds: 4 }
if (incomplete.prompt !== undefined || completed_at !== null) throw new Error('unexpected')

console.log(
  JSON.stringify({
    file: file.data!.filename,
    created: [job.status, framed.data!.status],
    poll: [wait, read.data!.status, again.response.status],
    said: completion.choices[0]!.message.role,
    streamed: first.object,
    refused: [refused.response.status, refused.error!.error.param],
  }),
)
`
