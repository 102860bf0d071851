import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Purpose } from '../../../server/files/purposes.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { assertInvalid, MIB, storedFile, submit } from '../../support/http/videos-app.ts'

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app.close())

const file = (purpose: Purpose, size_bytes = 1000) => storedFile(app, person, { purpose, size_bytes })
const files = async (purpose: Purpose, count: number) => {
  const made: Array<{ file_id: string }> = []
  for (let i = 0; i < count; i++) made.push({ file_id: await file(purpose) })
  return made
}
const frames = (...list: Array<[file_id: string, role: string]>) => ({
  image_reference: list.map(([file_id, role]) => ({ file_id, role })),
})
const inputsOf = async (id: string) => {
  const job = await app.database.db
    .selectFrom('video_jobs')
    .select('inputs')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return job.inputs.map(({ role, file_id }) => [role, file_id])
}

test('200 with either frame alone or both in any order, kept in the order given', async () => {
  const [a, b] = [await file('vision'), await file('vision')]
  const accepted: Array<Array<[string, string]>> = [
    [[a, 'first_frame']],
    [[a, 'last_frame']],
    [
      [a, 'first_frame'],
      [b, 'last_frame'],
    ],
    [
      [a, 'last_frame'],
      [b, 'first_frame'],
    ],
  ]
  for (const list of accepted) {
    const { status, body } = await submit(app, person, frames(...list))
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual([body.image_reference, body.references], [frames(...list).image_reference, null])
    assert.deepEqual(
      await inputsOf(body.id),
      list.map(([file_id, role]) => [role, file_id]),
    )
  }
})

test('200 when one picture is both first and last frame: a loop', async () => {
  const a = await file('vision')
  assert.equal((await submit(app, person, frames([a, 'first_frame'], [a, 'last_frame']))).status, 200)
})

test('200 with 8 images, 2 videos and 3 sounds, a video alone, and empty lists beside an image', async () => {
  const images = await files('vision', 8)
  const videos = await files('video', 2)
  const audio = await files('audio', 3)
  const { status, body } = await submit(app, person, { references: { images, videos, audio } })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal((await inputsOf(body.id)).length, 13)
  assert.equal((await submit(app, person, { references: { videos: videos.slice(0, 1) } })).status, 200)
  assert.equal((await submit(app, person, { references: { images, videos: [], audio: null } })).status, 200)
})

test('a job has its references as submitted, without empty lists, also when their files are gone', async () => {
  const [image, other, sound] = [await file('vision'), await file('vision'), await file('audio')]
  const images = [{ file_id: other }, { file_id: image }]
  const references = { images, videos: [], audio: [{ file_id: sound }] }
  const made = await submit(app, person, { references })
  const kept = { images, audio: [{ file_id: sound }] }
  await send(app, 'DELETE', `/v1/files/${image}`, person)
  const read = await send(app, 'GET', `/v1/videos/${made.body.id}`, person)
  const [listed] = (await send(app, 'GET', '/v1/videos?limit=1', person)).body.data
  for (const job of [made.body, read.body, listed])
    assert.deepEqual([job.image_reference, job.references], [null, kept])
})

test('400 for one more than each list may hold, and for no frames or three', async () => {
  const tooLong = (name: string, max: number) =>
    `Invalid '${name}': array too long. Expected an array with maximum length ${max}, but got an array with length ${max + 1} instead.`
  const images = await files('vision', 9)
  const one = images.slice(0, 1)
  assertInvalid(
    await submit(app, person, { references: { images } }),
    'references.images',
    tooLong('references.images', 8),
  )
  const videos = await files('video', 3)
  assertInvalid(
    await submit(app, person, { references: { videos } }),
    'references.videos',
    tooLong('references.videos', 2),
  )
  const audio = await files('audio', 4)
  assertInvalid(
    await submit(app, person, { references: { images: one, audio } }),
    'references.audio',
    tooLong('references.audio', 3),
  )
  const three = images.slice(0, 3).map(({ file_id }) => ({ file_id, role: 'first_frame' }))
  assertInvalid(await submit(app, person, { image_reference: three }), 'image_reference', tooLong('image_reference', 2))
  const none =
    "Invalid 'image_reference': array too short. Expected an array with minimum length 1, but got an array with length 0 instead."
  assertInvalid(await submit(app, person, { image_reference: [] }), 'image_reference', none)
})

test('400 for both shapes at once, audio alone, empty references, and a role used twice', async () => {
  const [a, b, sound] = [await file('vision'), await file('vision'), await file('audio')]
  const both = { ...frames([a, 'first_frame']), references: { images: [{ file_id: b }] } }
  assertInvalid(
    await submit(app, person, both),
    'references',
    "Send either 'image_reference' or 'references', not both.",
  )
  const bothEmpty = { ...frames([a, 'first_frame']), references: {} }
  assertInvalid(
    await submit(app, person, bothEmpty),
    'references',
    "Send either 'image_reference' or 'references', not both.",
  )
  const needed = "'references' needs at least one image or video."
  for (const references of [
    {},
    { audio: [{ file_id: sound }] },
    { images: [], videos: [] },
    { images: null, audio: [] },
  ]) {
    assertInvalid(await submit(app, person, { references }), 'references', needed)
  }
  const twice = frames([a, 'last_frame'], [b, 'last_frame'])
  assertInvalid(await submit(app, person, twice), 'image_reference[1].role', /'last_frame' is used twice/)
})

test('400 for wrong types inside the lists, named by their path', async () => {
  const cases: ReadonlyArray<[changes: Record<string, unknown>, param: string, message: string]> = [
    [{ image_reference: ['file-x'] }, 'image_reference[0]', 'expected an object, but got a string'],
    [{ image_reference: [null] }, 'image_reference[0]', 'expected an object, but got null'],
    [{ image_reference: [{ role: 'first_frame' }] }, 'image_reference[0].file_id', 'Missing required parameter'],
    [{ image_reference: [{ file_id: 'x' }] }, 'image_reference[0].role', 'Missing required parameter'],
    [{ image_reference: [{ file_id: 'x', role: null }] }, 'image_reference[0].role', 'but got null'],
    [
      { image_reference: [{ file_id: 'x', role: 'first' }] },
      'image_reference[0].role',
      "Supported values are: 'first_frame' and 'last_frame'.",
    ],
    [{ references: { images: {} } }, 'references.images', 'expected an array, but got an object'],
    [
      { references: { images: [{ file_id: 5 }] } },
      'references.images[0].file_id',
      'expected a string, but got an integer',
    ],
    [{ references: { images: [{ file_id: '' }] } }, 'references.images[0].file_id', 'string too short'],
    [{ references: { videos: [{ file_id: 'x'.repeat(65) }] } }, 'references.videos[0].file_id', 'string too long'],
    [
      { references: { images: [{ file_id: 'x' }], audio: [['x']] } },
      'references.audio[0]',
      'expected an object, but got an array',
    ],
  ]
  for (const [changes, param, message] of cases) {
    const answer = await submit(app, person, changes)
    assertInvalid(answer, param)
    assert.ok(answer.body.error.message.includes(message), answer.body.error.message)
  }
})

test('400 with one text for a file that is missing, malformed, expired, deleted or foreign', async () => {
  const rival = await newCustomer(app)
  const foreign = await storedFile(app, rival)
  const gone = await file('vision')
  await send(app, 'DELETE', `/v1/files/${gone}`, person)
  const expired = await storedFile(app, person, { live_seconds: 3600 })
  app.clock.advance(3600)
  const good = await file('vision')
  for (const file_id of ['file-00000000000000000000000000', 'nonsense', "' or 1=1 --", foreign, gone, expired]) {
    const text = `The file '${file_id}' does not exist, has expired, or belongs to another organization. Upload it with POST /v1/files.`
    const frame = frames([good, 'first_frame'], [file_id, 'last_frame'])
    assertInvalid(await submit(app, person, frame), 'image_reference[1].file_id', text)
    const references = { images: [{ file_id: good }], videos: [{ file_id }] }
    assertInvalid(await submit(app, person, { references }), 'references.videos[0].file_id', text)
  }
})

test('200 a second before a file expires, and with a file a colleague uploaded', async () => {
  const file_id = await storedFile(app, person, { live_seconds: 3600 })
  app.clock.advance(3599)
  assert.equal((await submit(app, person, frames([file_id, 'first_frame']))).status, 200)
  const colleague = await newColleague(app, person.org_id)
  const theirs = await file('vision')
  assert.equal((await submit(app, colleague, frames([theirs, 'first_frame']))).status, 200)
})

test('400 for every purpose but the one that the field accepts', async () => {
  const places: ReadonlyArray<
    [purpose: Purpose, param: string, body: (file_id: string, image: string) => Record<string, unknown>]
  > = [
    ['vision', 'image_reference[0].file_id', (id) => frames([id, 'first_frame'])],
    ['vision', 'image_reference[0].file_id', (id) => frames([id, 'last_frame'])],
    ['vision', 'references.images[0].file_id', (file_id) => ({ references: { images: [{ file_id }] } })],
    ['video', 'references.videos[0].file_id', (file_id) => ({ references: { videos: [{ file_id }] } })],
    [
      'audio',
      'references.audio[0].file_id',
      (file_id, image) => ({ references: { images: [{ file_id: image }], audio: [{ file_id }] } }),
    ],
  ]
  const image = await file('vision')
  for (const [wanted, param, body] of places) {
    for (const purpose of [
      'vision',
      'video',
      'audio',
      'user_data',
      'assistants',
      'batch',
      'fine-tune',
      'evals',
    ] as const) {
      const file_id = await file(purpose)
      const answer = await submit(app, person, body(file_id, image))
      if (purpose === wanted) assert.equal(answer.status, 200, JSON.stringify(answer.body))
      else assertInvalid(answer, param, new RegExp(`purpose '${purpose}'; here it must be '${wanted}'`))
    }
  }
})

test('a frame is under 30 MiB; a reference image at most 30, a video at most 50, a sound at most 15', async () => {
  const image = { file_id: await file('vision') }
  const places: ReadonlyArray<
    [purpose: Purpose, largest: number, param: string, body: (file_id: string) => Record<string, unknown>]
  > = [
    ['vision', 30 * MIB - 1, 'image_reference[0].file_id', (id) => frames([id, 'first_frame'])],
    ['vision', 30 * MIB - 1, 'image_reference[0].file_id', (id) => frames([id, 'last_frame'])],
    ['vision', 30 * MIB, 'references.images[0].file_id', (file_id) => ({ references: { images: [{ file_id }] } })],
    ['video', 50 * MIB, 'references.videos[0].file_id', (file_id) => ({ references: { videos: [{ file_id }] } })],
    [
      'audio',
      15 * MIB,
      'references.audio[0].file_id',
      (file_id) => ({ references: { images: [image], audio: [{ file_id }] } }),
    ],
  ]
  for (const [purpose, largest, param, body] of places) {
    for (const size of [largest - 1, largest]) {
      const answer = await submit(app, person, body(await file(purpose, size)))
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    const over = await submit(app, person, body(await file(purpose, largest + 1)))
    assertInvalid(over, param, new RegExp(`has ${largest + 1} bytes; here at most ${largest} are allowed`))
  }
})

test('400 for one file in two places of the references', async () => {
  const a = { file_id: await file('vision') }
  const answer = await submit(app, person, { references: { images: [a, { file_id: await file('vision') }, a] } })
  assertInvalid(answer, 'references.images[2].file_id', /used twice/)
})
