import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../../support/http/app.ts'
import { assertInvalid, jobsOf, sendRaw, submit } from '../../support/http/videos-app.ts'

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app.close())

const RATIOS = ['Auto', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16']
const ASTRAL = '\u{1F3AC}'
const COMBINED = 'e\u0301'

test('200 with the whole job as documented, and nothing else', async () => {
  const { status, body } = await submit(app, person, { prompt: '  Two boats <d>Ahoy!</d>\n', seconds: 8 })
  assert.equal(status, 200)
  assert.match(body.id, /^video_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  const created_at = Math.floor(app.clock.now().getTime() / 1000)
  assert.deepEqual(body, {
    id: body.id,
    object: 'video',
    model: 'instant-1',
    prompt: '  Two boats <d>Ahoy!</d>\n',
    seconds: 8,
    status: 'moderating',
    error: null,
    cost: '0.08000000',
    currency: 'usd',
    created_at,
    completed_at: null,
    progress: 0,
    aspect_ratio: '16:9',
    image_reference: null,
    references: null,
    expires_at: null,
  })
})

test('200 at every limit: 4 and 15 seconds, each aspect ratio, 1 and 7000 code points of any plane', async () => {
  const prompts = [
    'x',
    'x'.repeat(7000),
    ASTRAL.repeat(7000),
    COMBINED.repeat(3500),
    `${ASTRAL}${'x'.repeat(6999)}`,
    '\u3042\u200b',
    '\ufffd',
  ]
  for (const seconds of [4, 5, 14, 15]) assert.equal((await submit(app, person, { seconds })).status, 200)
  for (const aspect_ratio of RATIOS) assert.equal((await submit(app, person, { aspect_ratio })).status, 200)
  for (const prompt of prompts) {
    const { status, body } = await submit(app, person, { prompt })
    assert.equal(status, 200, JSON.stringify(body).slice(0, 200))
    assert.equal(body.prompt, prompt)
  }
})

test('200 for 8.0 and 80e-1, which are the integer 8, and null means absent for what is optional', async () => {
  const text = JSON.stringify(videoBody({ seconds: 8 }))
  for (const number of ['8.0', '80e-1']) {
    const answer = await sendRaw(app, person, text.replace('"seconds":8', `"seconds":${number}`))
    assert.equal(answer.status, 200)
    assert.equal(answer.body.seconds, 8)
  }
  assert.equal((await submit(app, person, { image_reference: null, references: null })).status, 200)
})

const got = (kind: string, name: string, expected: string) =>
  `Invalid type for '${name}': expected ${expected}, but got ${kind} instead.`
const long = (length: number) =>
  `Invalid 'prompt': string too long. Expected a string with maximum length 7000, but got a string with length ${length} instead.`
const short = (name: string) =>
  `Invalid '${name}': string too short. Expected a string with minimum length 1, but got a string with length 0 instead.`
const ratio = (value: string) =>
  `Invalid value: '${value}'. Supported values are: 'Auto', '21:9', '16:9', '4:3', '1:1', '3:4', and '9:16'.`
const seconds = (value: number) =>
  value < 4
    ? `Invalid 'seconds': integer below minimum value. Expected a value >= 4, but got ${value} instead.`
    : `Invalid 'seconds': integer above maximum value. Expected a value <= 15, but got ${value} instead.`
const blank = "Invalid 'prompt': it is blank. Expected some text."

const REFUSED: ReadonlyArray<[name: string, value: unknown, message: string]> = [
  ['model', undefined, "Missing required parameter: 'model'."],
  ['model', null, got('null', 'model', 'a string')],
  ['model', 7, got('an integer', 'model', 'a string')],
  ['model', '', short('model')],
  ['prompt', undefined, "Missing required parameter: 'prompt'."],
  ['prompt', null, got('null', 'prompt', 'a string')],
  ['prompt', ['x'], got('an array', 'prompt', 'a string')],
  ['prompt', '', short('prompt')],
  ['prompt', ' ', blank],
  ['prompt', ' \t\r\n\u00a0\u3000\u2028\ufeff', blank],
  ['prompt', 'x'.repeat(7001), long(7001)],
  ['prompt', ASTRAL.repeat(7001), long(7001)],
  ['prompt', COMBINED.repeat(3501), long(7002)],
  ['prompt', `x${'\u0301'.repeat(7000)}`, long(7001)],
  ['prompt', '\u{1F468}\u200d\u{1F469}\u200d\u{1F467}'.repeat(1401), long(7005)],
  ['seconds', undefined, "Missing required parameter: 'seconds'."],
  ['seconds', null, got('null', 'seconds', 'an integer')],
  ['seconds', '5', `${got('a string', 'seconds', 'an integer')} Send a number without quotation marks: 5.`],
  ['seconds', true, got('a boolean', 'seconds', 'an integer')],
  ['seconds', [5], got('an array', 'seconds', 'an integer')],
  ['seconds', { value: 5 }, got('an object', 'seconds', 'an integer')],
  ['seconds', 4.5, got('a decimal number', 'seconds', 'an integer')],
  ['seconds', 3, seconds(3)],
  ['seconds', 16, seconds(16)],
  ['seconds', 0, seconds(0)],
  ['seconds', -8, seconds(-8)],
  ['aspect_ratio', undefined, "Missing required parameter: 'aspect_ratio'."],
  ['aspect_ratio', null, got('null', 'aspect_ratio', 'a string')],
  ['aspect_ratio', 1.78, got('a decimal number', 'aspect_ratio', 'a string')],
  ['aspect_ratio', 'auto', ratio('auto')],
  ['aspect_ratio', '16:9 ', ratio('16:9 ')],
  ['aspect_ratio', '2:1', ratio('2:1')],
  ['image_reference', {}, got('an object', 'image_reference', 'an array')],
  ['image_reference', 'file', got('a string', 'image_reference', 'an array')],
  ['references', [], got('an array', 'references', 'an object')],
  ['references', 'file', got('a string', 'references', 'an object')],
  ['remix_of', 'x', "Unknown parameter: 'remix_of'."],
  ['size', null, "Unknown parameter: 'size'. Send aspect_ratio instead, such as '16:9'."],
  ['__proto__ ', {}, "Unknown parameter: '__proto__ '."],
  ['constructor', { prototype: { seconds: 4 } }, "Unknown parameter: 'constructor'."],
]

for (const [name, value, message] of REFUSED) {
  const shown = JSON.stringify(value)?.slice(0, 40) ?? 'absent'
  test(`400 when ${name} is ${shown}`, async () => {
    assertInvalid(await submit(app, person, { [name]: value }), name, message)
  })
}

test('400 for an unknown member at any depth, named by its path', async () => {
  const file = { file_id: 'file-x', role: 'first_frame' }
  const cases: ReadonlyArray<[changes: Record<string, unknown>, param: string]> = [
    [{ image_reference: [{ ...file, url: 'https://example.com/a.png' }] }, 'image_reference[0].url'],
    [{ image_reference: [file, { file_id: 'file-y', role: 'last_frame', weight: 1 }] }, 'image_reference[1].weight'],
    [{ references: { images: [{ file_id: 'x' }], weights: [] } }, 'references.weights'],
    [{ references: { images: [{ file_id: 'x', detail: 'high' }] } }, 'references.images[0].detail'],
    [{ references: { videos: [{ file_id: 'x', role: 'first_frame' }] } }, 'references.videos[0].role'],
    [{ references: { images: [{ file_id: 'x' }], audio: [{ file_id: 'x', gain: null }] } }, 'references.audio[0].gain'],
  ]
  for (const [changes, param] of cases) {
    assertInvalid(await submit(app, person, changes), param, `Unknown parameter: '${param}'.`)
  }
})

test('400 for text that cannot be kept: U+0000 and lone surrogates, in values and in names', async () => {
  const bad = ['a\\u0000b', '\\ud83c', 'x\\udfac y', '\\udfac\\ud83c']
  for (const text of bad) {
    const body = JSON.stringify(videoBody({ prompt: '@' })).replace('@', text)
    assertInvalid(await sendRaw(app, person, body), 'prompt', /U\+0000 or a lone surrogate/)
    const named = JSON.stringify(videoBody({ '@': 1 })).replace('@', text)
    assertInvalid(await sendRaw(app, person, named), null, /U\+0000 or a lone surrogate/)
  }
})

test('400 names the depth for nesting deeper than 64 levels, and the shape at 64', async () => {
  const nested = (levels: number) => `{"model":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  assertInvalid(await sendRaw(app, person, nested(64)), 'model', got('an array', 'model', 'a string'))
  assertInvalid(await sendRaw(app, person, nested(65)), null, /64 levels/)
  assertInvalid(await sendRaw(app, person, nested(100_000)), null, /64 levels/)
})

test('400 for numbers that cannot be integers, __proto__ as a member, and a body that is not an object', async () => {
  const body = JSON.stringify(videoBody({ seconds: 8 }))
  for (const number of ['1e400', '-1e400', '8.5', '1e-7']) {
    const answer = await sendRaw(app, person, body.replace('"seconds":8', `"seconds":${number}`))
    assertInvalid(answer, 'seconds', got('a decimal number', 'seconds', 'an integer'))
  }
  assertInvalid(
    await sendRaw(app, person, body.replace('{', '{"__proto__":{"seconds":9},')),
    '__proto__',
    "Unknown parameter: '__proto__'.",
  )
  const bodies = { '[]': 'an array', '"x"': 'a string', '7': 'an integer', null: 'null', true: 'a boolean' }
  for (const [text, kind] of Object.entries(bodies)) {
    assertInvalid(
      await sendRaw(app, person, text),
      null,
      `Invalid request body: expected an object, but got ${kind} instead.`,
    )
  }
  assertInvalid(
    await sendRaw(app, person, ''),
    null,
    'Invalid request body: expected an object, but got nothing instead.',
  )
})

test('400 before anything is kept: no refused body leaves a job or a hold', async () => {
  const other = await newCustomer(app)
  for (const changes of [{ seconds: 3 }, { size: '1' }, { prompt: '' }]) await submit(app, other, changes)
  assert.equal(await jobsOf(app, other.org_id), 0)
  assert.deepEqual(await app.audit(), {})
})
