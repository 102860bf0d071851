import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { MODEL, OPENING, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

const PROMPT = '夜の東京を歩く女性が<d>こんにちは、元気？</d>と言う。看板には「営業中」と書かれている。'
const DIALOGUE = '<d>こんにちは、元気？</d>'
const SIGN = '「営業中」'

let service: PipelineApp
before(async () => {
  service = await startPipelineApp({
    translation: '{ kind: chat, model: translator, base_url: "{engines}" }',
    moderation: '{ kind: openai-moderations, base_url: "{engines}" }',
  })
})
after(() => service.close())
afterEach(async () => {
  service.engines.unscript()
  assert.deepEqual(await service.app.audit(), {})
})

const calls = (path: string) => service.engines.requests.filter((request) => request.path === path)
const translates = (translation: (source: string) => string, depicted_text: string[] = []) => {
  service.engines.answers.chat = ({ messages }) =>
    JSON.stringify({ translation: translation(String(messages.at(-1)!.content)), depicted_text })
}
const english = (source: string) => `A woman walks through Tokyo at night: ${source.match(/⟦K\d+⟧/g)!.join(' beside ')}`

test('a Japanese prompt reaches the engine in English, with dialogue and depicted text byte for byte', async () => {
  translates(english)
  const id = await service.submit({ prompt: PROMPT })
  const job = await service.drive(id)
  assert.equal(job.status, 'completed')
  const rendered = [...service.engines.renders.values()].at(-1)!.fields.prompt!
  assert.equal(rendered, `A woman walks through Tokyo at night: ${DIALOGUE} beside ${SIGN}`)
  const { body } = await send(service.app, 'GET', `/v1/videos/${id}`, service.customer)
  assert.equal(body.prompt, PROMPT)
  assert.ok(!JSON.stringify(body).includes('Tokyo'), 'the translation is never published')
})

test('what the translator sees holds neither the dialogue nor the depicted text', async () => {
  translates(english)
  const asked = calls('/v1/chat/completions').length
  assert.equal((await service.drive(await service.submit({ prompt: PROMPT }))).status, 'completed')
  const [seen, ...more] = calls('/v1/chat/completions')
    .slice(asked)
    .map(({ body }) => body.toString())
  assert.deepEqual(more, [])
  assert.match(seen!, /東京/)
  assert.doesNotMatch(seen!, /こんにちは|営業中/)
})

test('the English is moderated too, and a violation in it fails the job from translating', async () => {
  translates((source) => `${english(source)} forbidden`)
  const id = await service.submit({ prompt: PROMPT })
  const started = service.engines.started()
  const before = await service.balance()
  assert.equal((await service.drive(id)).error_code, 'moderation_blocked')
  assert.deepEqual(await service.statuses(id), ['moderating', 'translating', 'failed'])
  assert.equal(service.engines.started(), started)
  assert.deepEqual(await service.balance(), { ...before, held: 0n, running: 0 })
})

test('a translation that cannot be moderated is rejected', async () => {
  translates(english)
  const id = await service.submit({ prompt: PROMPT })
  service.engines.answers.moderation = ({ input }) =>
    JSON.stringify(input).includes('Tokyo') ? {} : { flagged: false, categories: { a: false } }
  assert.equal((await service.drive(id)).error_code, 'moderation_unavailable')
  assert.deepEqual(await service.statuses(id), ['moderating', 'translating', 'failed'])
  service.engines.answers.moderation = () => ({ flagged: false, categories: { a: false } })
})

test('7000 Japanese characters are accepted, and their English is rendered however long it is', async () => {
  for (const characters of [3500, 7000]) {
    const prompt = '猫が歩く。'.repeat(characters / 5)
    const translation = 'Cats walk. '.repeat(characters / 5)
    translates(() => translation)
    const job = await service.drive(await service.submit({ prompt }))
    assert.equal(job.status, 'completed')
    assert.equal([...service.engines.renders.values()].at(-1)!.fields.prompt, translation)
  }
})

test('a caption that the translator lists is rendered unchanged', async () => {
  translates(() => 'Caption: "本日開店"', ['本日開店'])
  assert.equal((await service.drive(await service.submit({ prompt: 'テロップ：本日開店' }))).status, 'completed')
  assert.equal([...service.engines.renders.values()].at(-1)!.fields.prompt, 'Caption: "本日開店"')
})

const UNFAITHFUL: Record<string, (source: string) => string> = {
  'half a character': (source) => `${english(source)} \ud83d`,
  'a lost segment': (source) => english(source).replace('⟦K1⟧', ''),
  'a segment twice': (source) => `${english(source)} ⟦K0⟧`,
  'an invented segment': (source) => `${english(source)} ⟦K7⟧`,
  'Japanese left over': (source) => `${english(source)} です`,
  'the prompt as it was': (source) => source,
  'dialogue of its own': (source) => `${english(source)} <d>obey</d>`,
  nothing: () => '',
  'an obeyed instruction': () => 'OK',
}

test('an unfaithful translation is requested once more, then the job fails and costs nothing', async () => {
  const before = await service.balance()
  for (const [name, translation] of Object.entries(UNFAITHFUL)) {
    translates(translation)
    const asked = calls('/v1/chat/completions').length
    const job = await service.drive(await service.submit({ prompt: PROMPT }))
    assert.equal(job.error_code, 'translation_unavailable', name)
    assert.equal(calls('/v1/chat/completions').length - asked, 2, name)
  }
  assert.deepEqual(await service.balance(), before)
})

test('a translator that is down is asked three times, then the job fails and costs nothing', async () => {
  const before = await service.balance()
  const asked = calls('/v1/chat/completions').length
  service.engines.script({ path: '/v1/chat/completions', times: 9, fault: { kind: 'status', status: 503 } })
  const job = await service.drive(await service.submit({ prompt: PROMPT }))
  assert.equal(job.error_code, 'translation_unavailable')
  assert.equal(calls('/v1/chat/completions').length - asked, 3)
  assert.deepEqual(await service.balance(), before)
})

test('without a translator a Japanese prompt fails and costs nothing; Japanese dialogue alone renders as it is', async () => {
  const plain = await startPipelineApp()
  const failed = await plain.drive(await plain.submit({ prompt: PROMPT }))
  assert.deepEqual([failed.status, failed.error_code], ['failed', 'translation_unavailable'])
  assert.deepEqual(await plain.balance(), { balance: OPENING, held: 0n, running: 0, charges: 0 })
  assert.equal(plain.engines.started(), 0)

  const prompt = `A cat says ${DIALOGUE} under a sign ${SIGN}`
  assert.equal((await plain.drive(await plain.submit({ prompt }))).status, 'completed')
  assert.equal([...plain.engines.renders.values()].at(-1)!.fields.prompt, prompt)
  await plain.close()
})

test('a model with a limit: 400 for an English prompt that is too long; a translation is shortened, or fails with both lengths', async (t) => {
  const limited = await startPipelineApp({
    translation: '{ kind: chat, model: translator, base_url: "{engines}" }',
    model_more: 'prompt_max: 4000',
  })
  t.after(() => limited.close())
  const submit = (prompt: string) =>
    send(limited.app, 'POST', '/v1/videos', limited.customer, videoBody({ model: MODEL, prompt }))
  const { status, body } = await submit('x'.repeat(4001))
  assert.deepEqual([status, body.error.param, body.error.code], [400, 'prompt', 'invalid_request_error'])
  assert.match(body.error.message, /at most 4000 characters.*4001/)
  assert.equal((await limited.drive(await limited.submit({ prompt: 'x'.repeat(4000) }))).status, 'completed')

  const prompt = '猫が歩く。'.repeat(1400)
  const balance = await limited.balance()
  const answers = ['Cats walk. ', 'Cats go. ']
  let asked = 0
  limited.engines.answers.chat = () =>
    JSON.stringify({ translation: answers[asked++ % 2]!.repeat(1400), depicted_text: [] })
  const failed = await limited.drive(await limited.submit({ prompt }))
  assert.equal(failed.error_code, 'translation_unavailable')
  assert.match(failed.error_message!, /has 12600 characters, .* at most 4000.* from 7000 to about 2222 characters/)
  assert.equal(asked, 2)
  assert.deepEqual(await limited.balance(), { ...balance, held: 0n, running: 0 })

  answers[1] = 'Cat. '
  const shortened = prompt.slice(0, 3500)
  limited.engines.answers.chat = () =>
    JSON.stringify({ translation: answers[asked++ % 2]!.repeat(700), depicted_text: [] })
  assert.equal((await limited.drive(await limited.submit({ prompt: shortened }))).status, 'completed')
  assert.equal([...limited.engines.renders.values()].at(-1)!.fields.prompt, 'Cat. '.repeat(700))
  assert.deepEqual(await limited.app.audit(), {})
})
