import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { samplePicture } from '../../support/data/media.ts'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../../support/http/app.ts'
import { assertInvalid, sendRaw, submit } from '../../support/http/videos-app.ts'

let app: TestApp
let person: TestPerson
let client: OpenAI
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
  client = new OpenAI({ apiKey: person.key, baseURL: `${app.url}/v1`, maxRetries: 0 })
})
after(() => app.close())

/** Exactly as the types of the client have it, without a cast. */
async function refusalOf(changes: Partial<OpenAI.VideoCreateParams>): Promise<{ param: unknown; message: string }> {
  const body = { model: 'instant-1', prompt: 'A paper boat', seconds: '4', ...changes } as OpenAI.VideoCreateParams
  try {
    await client.videos.create(body)
  } catch (error) {
    assert.ok(error instanceof OpenAI.BadRequestError)
    assert.equal(error.code, 'invalid_request_error')
    return { param: error.param, message: (error.error as { message: string }).message }
  }
  return assert.fail('nothing was refused')
}

test('400 for size names aspect_ratio and the ratio nearest to that size, also when aspect_ratio is not sent', async () => {
  const cases: Array<[size: string, ratio: string]> = [
    ['1280x720', '16:9'],
    ['720x1280', '9:16'],
    ['1792x1024', '16:9'],
    ['1024x1024', '1:1'],
    ['1024x768', '4:3'],
  ]
  for (const [size, ratio] of cases) {
    const said = {
      param: 'size',
      message: `Unknown parameter: 'size'. Send aspect_ratio instead: '${ratio}' for ${size}.`,
    }
    assert.deepEqual(await refusalOf({ size: size as OpenAI.VideoSize }), said)
  }
  const both = await submit(app, person, { size: '1280x720' })
  assertInvalid(both, 'size', "Unknown parameter: 'size'. Send aspect_ratio instead: '16:9' for 1280x720.")
  for (const size of ['large', '0x0', 720, '1e3x2', '9'.repeat(400)]) {
    const answer = await submit(app, person, { size })
    assertInvalid(answer, 'size', "Unknown parameter: 'size'. Send aspect_ratio instead, such as '16:9'.")
  }
})

test('400 for input_reference, sent as a picture or as an object, names image_reference and the upload', async () => {
  const picture = await toFile(await samplePicture('png'), 'boat.png')
  const file = await refusalOf({ input_reference: picture })
  assert.equal(file.param, 'input_reference')
  assert.match(file.message, /is a file.*POST \/v1\/files.*image_reference.*first_frame/)
  const answer = await submit(app, person, { input_reference: { file_id: 'file-1' } })
  assertInvalid(
    answer,
    'input_reference',
    /^Unknown parameter: 'input_reference'\. Send image_reference instead.*first_frame/,
  )
})

test('400 for seconds as text in JSON says to send a number, and which', async () => {
  const text = JSON.stringify(videoBody({ seconds: '8' }))
  const wrong = "Invalid type for 'seconds': expected an integer, but got a string instead."
  assertInvalid(await sendRaw(app, person, text), 'seconds', `${wrong} Send a number without quotation marks: 8.`)
  for (const seconds of ['eight', '', '9'.repeat(300)]) {
    assertInvalid(await submit(app, person, { seconds }), 'seconds', `${wrong} Send a whole number from 4 to 15.`)
  }
})

test('400 names the first problem only: what is wrong before size comes first', async () => {
  const body = { prompt: 'A paper boat', seconds: 4, size: '1280x720' }
  assertInvalid(await sendRaw(app, person, JSON.stringify(body)), 'model', "Missing required parameter: 'model'.")
})
