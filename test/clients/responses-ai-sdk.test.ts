import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createOpenAI, type OpenAIProvider } from '@ai-sdk/openai'
import { APICallError, generateText, isStepCount, type ModelMessage, Output, streamText, tool } from 'ai'
import { z } from 'zod'
import { samplePicture } from '../support/data/media.ts'
import { samplePdf } from '../support/data/pdf.ts'
import { type ClientsApp, startForClients } from './chat-clients-app.ts'

const prompt = 'Say hello to Paris.'
const schema = z.object({ city: z.string(), days: z.number().int().min(1).max(9) })
const weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `21 degrees in ${city}`,
})

let service: ClientsApp
let openai: OpenAIProvider
before(async () => {
  service = await startForClients()
  openai = createOpenAI({ apiKey: service.person.key, baseURL: service.base_url })
})
after(() => service.close())

test('ai-sdk: generateText and streamText return text, usage and the finish reason', async () => {
  const model = openai.responses('sandbox-1')
  const plain = await generateText({ model, prompt, maxRetries: 0 })
  assert.match(plain.text, /Paris/)
  assert.equal(plain.finishReason, 'stop')
  const stream = streamText({ model, prompt, maxRetries: 0 })
  let text = ''
  for await (const delta of stream.textStream) text += delta
  assert.equal(text, plain.text)
  assert.equal(await stream.finishReason, 'stop')
  const { inputTokens, outputTokens } = await stream.totalUsage
  assert.deepEqual([inputTokens, outputTokens], [plain.usage.inputTokens, plain.usage.outputTokens])
  assert.ok(inputTokens! > 0 && outputTokens! > 0)
  const cut = await generateText({ model, prompt, maxOutputTokens: 3, maxRetries: 0 })
  assert.equal(cut.finishReason, 'length')
})

test('ai-sdk: tools are called and answered over several steps, plain and streamed, stored or not', async () => {
  for (const store of [true, false]) {
    const options = {
      model: openai.responses('sandbox-1'),
      tools: { get_weather: weather },
      maxRetries: 0,
      prompt: 'Use get_weather for Paris.',
      stopWhen: isStepCount(3),
      providerOptions: { openai: { store } },
    }
    const plain = await generateText(options)
    assert.match(plain.text, /21 degrees in Paris/)
    assert.equal(plain.steps.length, 2)
    const stream = streamText(options)
    assert.equal(await stream.text, plain.text)
    assert.equal((await stream.steps).length, 2)
  }
})

test('ai-sdk: structured output satisfies its zod schema, plain and streamed', async () => {
  const model = openai.responses('sandbox-1')
  const options = { model, prompt: 'A trip to Paris', output: Output.object({ schema }), maxRetries: 0 }
  const { output } = await generateText(options)
  assert.deepEqual(schema.parse(output), output)
  const stream = streamText(options)
  let partials = 0
  for await (const _ of stream.partialOutputStream) partials++
  assert.deepEqual(await stream.output, output)
  assert.ok(partials > 0)
})

test('ai-sdk: reasoning is returned as its summary, and goes along through a tool call, stored or encrypted', async () => {
  for (const store of [true, false]) {
    const include = store ? [] : ['reasoning.encrypted_content' as const]
    const providerOptions = { openai: { store, include, reasoningEffort: 'low', reasoningSummary: 'auto' } }
    const options = {
      model: openai.responses('o1-sandbox'),
      tools: { get_weather: weather },
      maxRetries: 0,
      providerOptions,
      prompt: 'Use get_weather for Paris.',
      stopWhen: isStepCount(3),
    }
    const plain = await generateText(options)
    assert.ok(plain.steps[0]!.reasoningText!.length > 0)
    assert.match(plain.text, /21 degrees in Paris/)
    const stream = streamText(options)
    assert.equal(await stream.text, plain.text)
    assert.ok((await stream.steps)[0]!.reasoningText!.length > 0)
  }
})

test('ai-sdk: a conversation can refer to earlier items that were stored, and is refused if they were not', async () => {
  const sent: string[] = []
  const recording: typeof fetch = (url, init) => {
    sent.push(String(init?.body))
    return fetch(url, init)
  }
  const { person, base_url } = service
  const model = createOpenAI({ apiKey: person.key, baseURL: base_url, fetch: recording }).responses('sandbox-1')
  const question: ModelMessage = { role: 'user', content: prompt }
  const first = await generateText({ model, messages: [question], maxRetries: 0 })
  const next = [question, ...first.responseMessages, { role: 'user', content: 'And again.' } as const]
  const second = await generateText({ model, messages: next, maxRetries: 0 })
  assert.ok(second.text.length > 0)
  assert.match(sent.at(-1)!, /"type":"item_reference"/)
  const providerOptions = { openai: { store: false } }
  const unstored = await generateText({ model, messages: [question], maxRetries: 0, providerOptions })
  const lost = [question, ...unstored.responseMessages, { role: 'user', content: 'And again.' } as const]
  await assert.rejects(generateText({ model, messages: lost, maxRetries: 0 }), (error: unknown) => {
    assert.ok(APICallError.isInstance(error))
    assert.equal(error.statusCode, 404)
    return true
  })
})

test('ai-sdk: a chain goes on by previousResponseId', async () => {
  const model = openai.responses('sandbox-1')
  const first = await generateText({ model, prompt: 'My city is Paris.', maxRetries: 0 })
  const previousResponseId = (first.providerMetadata as { openai: { responseId: string } }).openai.responseId
  const providerOptions = { openai: { previousResponseId } }
  const second = await generateText({ model, prompt: 'Which city?', providerOptions, maxRetries: 0 })
  assert.ok(second.usage.inputTokens! > first.usage.inputTokens!)
})

test('ai-sdk: pictures and PDF files are accepted', async () => {
  const files = [
    { data: await samplePicture('png'), mediaType: 'image/png' },
    { data: await samplePdf(1), mediaType: 'application/pdf', filename: 'a.pdf' },
  ]
  for (const file of files) {
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'file' as const, ...file },
    ]
    const { text } = await generateText({
      model: openai.responses('sandbox-1'),
      messages: [{ role: 'user', content }],
      maxRetries: 0,
    })
    assert.ok(text.length > 0)
  }
})

test('ai-sdk: a refusal carries its status and message, plain and streamed', async () => {
  const model = openai.responses('nobody')
  const isUnknown = (error: unknown) => {
    assert.ok(APICallError.isInstance(error))
    assert.deepEqual([error.statusCode, error.isRetryable], [404, false])
    assert.match(error.message, /nobody/)
    return true
  }
  await assert.rejects(generateText({ model, prompt, maxRetries: 0 }), isUnknown)
  let failure: unknown
  const onError = ({ error }: { error: unknown }) => {
    failure = error
  }
  const stream = streamText({ model, prompt, maxRetries: 0, onError })
  await stream.consumeStream()
  isUnknown(failure)
})
