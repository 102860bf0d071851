import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'

const CONFIG = `
plans: { free: { video_models: [instant-1, own-1] } }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
  - { id: own-1, engine: instant, per_second: "0.010000", prompt_help: Write verses. }
  - { id: secret-1, engine: instant, per_second: "0.010000" }
chat_models:
  - { id: helper-1, engine: sandbox, price_per_million: { input: "0.10", output: "0.40" } }
`
const HELP = 'prompt_help: { model: helper-1, instruction: Write well. }\n'

const IN_ENGLISH =
  'Write the new prompt in English, whatever language the prompt is in. Only what <d>...</d> contains and text in quotation marks keep their language.'

let app: TestApp
let own: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG + HELP })
  own = await newCustomer(app)
})
after(() => app.close())

const read = (model: string, at = app, person = own) =>
  send(at, 'GET', `/console/prompt_help?model=${model}`, { cookie: person.cookie })

test('the chat model that is named, with the instruction of the video model or the usual one', async () => {
  const { status, body } = await read('instant-1')
  assert.deepEqual(
    [status, body],
    [
      200,
      { object: 'prompt_help', model: 'instant-1', chat_model: 'helper-1', instruction: `Write well.\n${IN_ENGLISH}` },
    ],
  )
  assert.equal((await read('own-1')).body.instruction, `Write verses.\n${IN_ENGLISH}`)
  for (const model of ['secret-1', 'nothing']) assert.equal((await read(model)).body.error.code, 'model_not_found')
})

test('the instruction alone where Japanese prompts are translated', async () => {
  const translation = 'translation: { engine: { kind: chat, base_url: "http://127.0.0.1:1", model: translator } }\n'
  const other = await startApp({ config: CONFIG + HELP + translation })
  const { body } = await read('instant-1', other, await newCustomer(other))
  await other.close()
  assert.equal(body.instruction, 'Write well.')
})

test('null where there is none, and where the plan does not include it; an instruction of its own by default', async () => {
  for (const [config, chat_model] of [
    [CONFIG.replace(', prompt_help: Write verses.', ''), null],
    [CONFIG.replace('own-1] }', 'own-1], chat_models: [] }') + HELP, null],
    [`${CONFIG}prompt_help: { model: helper-1 }`, 'helper-1'],
  ] as const) {
    const other = await startApp({ config })
    const { body } = await read('instant-1', other, await newCustomer(other))
    await other.close()
    assert.equal(body.chat_model, chat_model)
    if (chat_model === null) assert.equal(body.instruction, null)
    else assert.match(body.instruction, /<d>/)
  }
})
