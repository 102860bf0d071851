import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BlobsAway } from '../../../server/platform/blobs/blobs.ts'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../../support/http/app.ts'
import { multipart, type Part, rawConnection } from '../../support/http/raw-http.ts'
import { assertInvalid, assertRefused, sendRaw, storedFile } from '../../support/http/videos-app.ts'

let app: TestApp
let person: TestPerson
let pictures: string[]
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
  pictures = [await storedFile(app, person), await storedFile(app, person), await storedFile(app, person)]
})
after(() => app.close())

const TEXTS: Part[] = Object.entries(videoBody({ seconds: '8' })).map(([name, body]) => ({ name, body: String(body) }))

function form(parts: readonly Part[], options: { without?: string; charset?: string } = {}) {
  const all = [...TEXTS.filter(({ name }) => name !== options.without), ...parts]
  const { type, body } = multipart(all)
  return sendRaw(app, person, new Uint8Array(body), type)
}

const fields = (...pairs: Array<[name: string, body: string]>): Part[] => pairs.map(([name, body]) => ({ name, body }))

async function inputsOf(id: string) {
  const job = await app.database.db
    .selectFrom('video_jobs')
    .select('inputs')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return job.inputs.map(({ role, file_id }) => [role, file_id])
}

test('200 with numeric indices, in any order of members and with values that hold line breaks', async () => {
  const [a, b] = pictures as [string, string]
  const parts = fields(
    ['image_reference[0][role]', 'first_frame'],
    ['image_reference[1][file_id]', b],
    ['image_reference[0][file_id]', a],
    ['image_reference[1][role]', 'last_frame'],
  )
  const framed = await form(parts)
  assert.equal(framed.status, 200, JSON.stringify(framed.body))
  assert.deepEqual(await inputsOf(framed.body.id), [
    ['first_frame', a],
    ['last_frame', b],
  ])
  const referred = await form(fields(['references[images][0][file_id]', a], ['references[images][1][file_id]', b]))
  assert.deepEqual(await inputsOf(referred.body.id), [
    ['reference_image', a],
    ['reference_image', b],
  ])
})

test('200 with parts of JSON, whole or an element each, and with the values of one name after another', async () => {
  const [a, b] = pictures as [string, string]
  const frames = [
    { file_id: a, role: 'first_frame' },
    { file_id: b, role: 'last_frame' },
  ]
  const image_reference = JSON.stringify(frames)
  const json = { name: 'image_reference', type: 'application/json' }
  const each = frames.map((frame) => JSON.stringify(frame))
  const [files, roles] = ['image_reference[][file_id]', 'image_reference[][role]']
  const forms: Part[][] = [
    [{ ...json, body: image_reference }],
    [{ ...json, filename: 'blob', body: image_reference }],
    [{ ...json, type: 'application/json; charset=utf-8', body: image_reference }],
    each.map((body) => ({ ...json, body })),
    fields(['image_reference', image_reference]),
    fields(...each.map((body): [string, string] => ['image_reference', body])),
    fields([files, a], [files, b], [roles, 'first_frame'], [roles, 'last_frame']),
  ]
  for (const parts of forms) {
    const { status, body } = await form(parts)
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(await inputsOf(body.id), [
      ['first_frame', a],
      ['last_frame', b],
    ])
  }
  const references = JSON.stringify({ images: [{ file_id: b }] })
  const referred = await form([{ name: 'references', type: 'application/json', body: references }])
  assert.deepEqual(await inputsOf(referred.body.id), [['reference_image', b]])
})

test('400 for a part of JSON that is broken, too deep, sent twice or of another shape; 413 for one over a megabyte', async () => {
  const json = (body: string, name = 'references'): Part => ({ name, type: 'application/json', body })
  assertInvalid(await form([json('{"images":')]), 'references', "'references' is not valid JSON.")
  assertInvalid(await form([json('['.repeat(100_000))]), null, /nested|levels/)
  assertInvalid(await form([json('{}'), json('{}')]), 'references', "'references' is sent twice. Send it once.")
  assertInvalid(await form([json('{"masks":[]}')]), 'references.masks')
  assertInvalid(await form([json('{"__proto__":{"images":[]}}')]), 'references.__proto__')
  assertInvalid(await form([json('[1]', 'image_reference')]), 'image_reference[0]')
  assertInvalid(
    await form([{ ...json('{}', 'prompt'), filename: 'blob' }], { without: 'prompt' }),
    'prompt',
    /is a file/,
  )
  const large = await form([json(JSON.stringify({ images: 'x'.repeat(1_100_000) }))])
  assertRefused(large, { status: 413, code: 'request_too_large' })
})

test('413 for parts of JSON over a megabyte together, so that many hold no more values than a body may', async () => {
  const frame = JSON.stringify({ values: Array.from({ length: 199_000 }, () => 1) })
  for (const part of [
    { name: 'image_reference', type: 'application/json', body: frame },
    { name: 'image_reference', body: frame },
  ]) {
    assertInvalid(await form([part, part]), 'image_reference[0].file_id')
    assertRefused(await form([part, part, part]), { status: 413, code: 'request_too_large' })
  }
})

test('200 with 7000 code points of four bytes each in a form', async () => {
  const answer = await form(fields(['prompt', '\u{1F3AC}'.repeat(7000)]), { without: 'prompt' })
  assert.equal(answer.status, 200)
  const long = await form(fields(['prompt', '\u{1F3AC}'.repeat(7001)]), { without: 'prompt' })
  assertInvalid(long, 'prompt', /got a string with length 7001/)
})

const NOT_AN_INTEGER = "Invalid type for 'seconds': expected an integer, but got a string instead."

test('400 for seconds that are not the decimal text of an integer from 4 to 15', async () => {
  for (const text of ['8.0', ' 8', '8s', '0x8', '1e1', '', '+8', '８']) {
    const answer = await form(fields(['seconds', text]), { without: 'seconds' })
    assertInvalid(answer, 'seconds', `${NOT_AN_INTEGER} Send a whole number from 4 to 15.`)
  }
  for (const text of ['3', '16', '99999999'])
    assertInvalid(await form(fields(['seconds', text]), { without: 'seconds' }), 'seconds')
})

test('400 for a file part, whatever its field', async () => {
  for (const name of ['input_reference', 'prompt', 'image_reference']) {
    const part = { name, filename: 'a.png', type: 'image/png', body: 'x'.repeat(100_000) }
    assertInvalid(
      await form([part], { without: name }),
      name,
      new RegExp(`'${name}' is a file. Upload it with POST /v1/files`),
    )
  }
})

test('400 for a field sent twice, an unknown field, and names that fit nothing', async () => {
  assertInvalid(await form(fields(['model', 'instant-1'])), 'model', "'model' is sent twice. Send it once.")
  assertInvalid(await form(fields(['size', '1280x720'])), 'size', /^Unknown parameter: 'size'\. Send aspect_ratio/)
  const [a] = pictures as [string]
  const cases: ReadonlyArray<[names: Array<[string, string]>, param: string]> = [
    [
      [
        ['image_reference[0][file_id]', a],
        ['image_reference[0][file_id]', a],
      ],
      'image_reference[0][file_id]',
    ],
    [[['image_reference[1][file_id]', a]], 'image_reference[1][file_id]'],
    [
      [
        ['image_reference', a],
        ['image_reference[][role]', 'first_frame'],
      ],
      'image_reference[][role]',
    ],
    [
      [
        ['references[images][][file_id]', a],
        ['references[][file_id]', a],
      ],
      'references[][file_id]',
    ],
    [
      [
        ['image_reference[][file_id]', a],
        ['image_reference[][role]', 'first_frame'],
        ['image_reference[][url]', 'x'],
      ],
      'image_reference[0].url',
    ],
    [
      [
        ['references[images][][file_id]', a],
        ['references[masks][][file_id]', a],
      ],
      'references.masks',
    ],
    [[['references[images][]', a]], 'references.images[0]'],
    [[['[file_id]', a]], '[file_id]'],
    [[['prompt.text', 'x']], 'prompt.text'],
    [[['__proto__[seconds]', '9']], '__proto__[seconds]'],
    [[['references[__proto__][seconds]', '9']], 'references[__proto__][seconds]'],
    [[['constructor[prototype][seconds]', '9']], 'constructor'],
  ]
  for (const [names, param] of cases) assertInvalid(await form(fields(...names)), param)
  assert.equal(({} as Record<string, unknown>).seconds, undefined)
})

test('400 for a missing field, in the words of the JSON form', async () => {
  assertInvalid(await form([], { without: 'prompt' }), 'prompt', "Missing required parameter: 'prompt'.")
})

test('400 for text that cannot be kept, in a value or a name', async () => {
  assertInvalid(await form(fields(['prompt', 'a\0b']), { without: 'prompt' }), 'prompt', /U\+0000/)
  assertInvalid(
    await form(fields(['image_reference[][file_id]', 'a\0b'], ['image_reference[][role]', 'first_frame'])),
    'image_reference[0].file_id',
    /U\+0000/,
  )
})

test('400 for a form that is broken, cut or has too many fields; 413 for a field over a megabyte', async () => {
  const { type, body } = multipart(TEXTS)
  assertInvalid(await sendRaw(app, person, new Uint8Array(body), 'multipart/form-data'), null, /has no boundary/)
  assertInvalid(await sendRaw(app, person, new Uint8Array(body.subarray(0, 200)), type), null)
  assert.equal((await sendRaw(app, person, '', type)).status, 400)
  assert.equal((await sendRaw(app, person, new Uint8Array(body), 'multipart/form-data; boundary=other')).status, 400)
  const many = Array.from({ length: 70 }, (_, i): [string, string] => [`references[images][${i}][file_id]`, 'x'])
  assertInvalid(await form(fields(...many)), null)
  const large = await form(fields(['prompt', 'x'.repeat(1_100_000)]), { without: 'prompt' })
  assertRefused(large, { status: 413, code: 'request_too_large' })
})

test('a rejected form is read to its end, so its connection takes the next request', async () => {
  const rest: Part = { name: 'prompt', body: 'x'.repeat(3_000_000) }
  const json = { name: 'references', type: 'application/json' }
  const rejected: Array<[status: number, part: Part]> = [
    [400, { name: 'prompt', filename: 'a.png', type: 'image/png', body: 'x'.repeat(100_000) }],
    [400, { name: 'prompt.text', body: 'x' }],
    [400, { ...json, body: '{' }],
    [413, { ...json, body: 'x'.repeat(1_100_000) }],
  ]
  for (const [status, part] of rejected) {
    const { type, body } = multipart([part, rest])
    const connection = await rawConnection(app.url)
    const line = `host: kinora\r\nauthorization: Bearer ${person.key}\r\n`
    const head = `POST /v1/videos HTTP/1.1\r\n${line}content-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`
    await connection.write(Buffer.concat([Buffer.from(head), body]))
    assert.equal((await connection.answer()).status, status, part.name)
    await connection.write(`GET /v1/models HTTP/1.1\r\n${line}\r\n`)
    assert.equal((await connection.answer()).status, 200, part.name)
    connection.close()
  }
})

test('503 for a picture that the storage cannot take now, 500 when it fails', async () => {
  const { type, body } = multipart([
    { name: 'model', body: 'instant-1' },
    { name: 'prompt', body: 'A boat' },
    { name: 'input_reference', filename: 'a.png', type: 'image/png', body: 'x'.repeat(1000) },
  ])
  const { blobs } = app.ctx
  try {
    for (const [error, status, code] of [
      [new BlobsAway('the bucket is away'), 503, 'server_is_overloaded'],
      [new Error('EIO: i/o error, write'), 500, 'server_error'],
    ] as const) {
      app.ctx.blobs = { ...blobs, stage: () => Promise.reject(error) }
      const response = await sendRaw(app, person, new Uint8Array(body), type)
      assert.deepEqual([response.status, response.body.error.code], [status, code])
    }
  } finally {
    app.ctx.blobs = blobs
  }
})

test('415 for any other content type', async () => {
  const text = JSON.stringify(videoBody())
  const types = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'application/octet-stream',
    'json',
    'multipart/mixed; boundary=x',
  ]
  for (const type of types)
    assertRefused(await sendRaw(app, person, text, type), { status: 415, code: 'unsupported_media_type' })
})
