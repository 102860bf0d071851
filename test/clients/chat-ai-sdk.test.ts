import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, isStepCount, type LanguageModel, Output, streamText, tool } from 'ai'
import { z } from 'zod'
import { samplePicture } from '../support/data/media.ts'
import { samplePdf } from '../support/data/pdf.ts'
import { type ClientsApp, startForClients } from './chat-clients-app.ts'

const prompt = 'Say hello to Paris.'
const schema = z.object({
  city: z.string(),
  days: z.number().int().min(1).max(9),
  tags: z.array(z.enum(['art', 'food'])),
})

let service: ClientsApp
let providers: Array<{ name: string; chat: (model: string) => LanguageModel }>
before(async () => {
  service = await startForClients()
  const options = { apiKey: service.person.key, baseURL: service.base_url }
  const openai = createOpenAI(options)
  const compatible = createOpenAICompatible({
    ...options,
    name: 'kinora',
    includeUsage: true,
    supportsStructuredOutputs: true,
  })
  providers = [
    { name: 'openai', chat: (model) => openai.chat(model) },
    { name: 'compatible', chat: (model) => compatible.chatModel(model) },
  ]
})
after(() => service.close())

test('ai-sdk: generateText and streamText return text, usage and the finish reason', async () => {
  for (const { name, chat } of providers) {
    const plain = await generateText({ model: chat('sandbox-1'), prompt, seed: 1, maxRetries: 0 })
    assert.match(plain.text, /Paris/, name)
    assert.equal(plain.finishReason, 'stop')
    const stream = streamText({ model: chat('sandbox-1'), prompt, seed: 1, maxRetries: 0 })
    let text = ''
    for await (const delta of stream.textStream) text += delta
    assert.equal(text, plain.text, name)
    assert.equal(await stream.finishReason, 'stop')
    const { inputTokens, outputTokens } = await stream.totalUsage
    assert.deepEqual([inputTokens, outputTokens], [plain.usage.inputTokens, plain.usage.outputTokens], name)
    assert.ok(inputTokens! > 0 && outputTokens! > 0)
    const cut = await generateText({ model: chat('sandbox-1'), prompt, maxOutputTokens: 3, maxRetries: 0 })
    assert.deepEqual([cut.finishReason, cut.usage.outputTokens], ['length', 3])
  }
})

test('ai-sdk: structured output satisfies its zod schema, plain and streamed', async () => {
  for (const { name, chat } of providers) {
    const options = { model: chat('sandbox-1'), prompt, output: Output.object({ schema }), maxRetries: 0 }
    const { output } = await generateText(options)
    assert.deepEqual(schema.parse(output), output, name)
    const stream = streamText(options)
    let partials = 0
    for await (const _ of stream.partialOutputStream) partials++
    assert.deepEqual(await stream.output, output, name)
    assert.ok(partials > 1)
  }
})

test('ai-sdk: a tool loop makes its calls, gets their results and ends in text, plain and streamed', async () => {
  for (const { name, chat } of providers) {
    const asked: string[] = []
    const options = {
      model: chat('sandbox-1'),
      prompt: 'Use weather for Paris.',
      stopWhen: isStepCount(4),
      maxRetries: 0,
      tools: {
        weather: tool({
          description: 'The weather of a city.',
          inputSchema: z.object({ city: z.string() }),
          execute: ({ city }) => {
            asked.push(city)
            return { city, celsius: 21 }
          },
        }),
      },
    }
    const plain = await generateText(options)
    assert.equal(plain.steps.length, 2, name)
    assert.match(plain.text, /"celsius":21/, name)
    const stream = streamText(options)
    assert.match(await stream.text, /"celsius":21/, name)
    assert.deepEqual(
      (await stream.steps).map(({ finishReason }) => finishReason),
      ['tool-calls', 'stop'],
    )
    assert.deepEqual(asked, ['Paris', 'Paris'])
  }
})

test('ai-sdk: reasoning is asked for by effort, counted, and returned where the provider reads it', async () => {
  for (const { name, chat } of providers) {
    const providerOptions = {
      openai: { reasoningEffort: 'low', forceReasoning: true },
      kinora: { reasoningEffort: 'low' },
    }
    const options = { model: chat('sandbox-1'), prompt, providerOptions, maxRetries: 0 }
    const plain = await generateText(options)
    assert.ok(plain.usage.outputTokenDetails.reasoningTokens! > 0, name)
    const stream = streamText(options)
    assert.equal(await stream.text, plain.text, name)
    assert.equal(await stream.reasoningText, plain.reasoningText, name)
    // OpenAI's own provider leaves reasoning text to the responses endpoint.
    assert.equal(plain.reasoningText !== undefined, name === 'compatible')
    const { response } = plain
    const again = await generateText({
      model: chat('sandbox-1'),
      maxRetries: 0,
      messages: [{ role: 'user', content: prompt }, ...response.messages, { role: 'user', content: 'And Rome?' }],
    })
    assert.match(again.text, /Rome/, name)
  }
})

test('ai-sdk: pictures and PDFs are accepted inline', async () => {
  const picture = await samplePicture('png', { width: 32, height: 24 })
  for (const { name, chat } of providers) {
    const { text } = await generateText({
      model: chat('sandbox-1'),
      maxRetries: 0,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What are these?' },
            { type: 'file', mediaType: 'image/png', data: picture },
            { type: 'file', mediaType: 'application/pdf', filename: 'two pages.pdf', data: samplePdf(2) },
          ],
        },
      ],
    })
    assert.match(text, /3 images/, name)
    assert.match(text, /32×24/, name)
  }
})

test('ai-sdk: refusals become its API call errors, retried only where that may help', async () => {
  for (const { name, chat } of providers) {
    const failure = async (model: string, text: string) => {
      const error = await generateText({ model: chat(model), prompt: text, maxRetries: 0 }).then(
        () => assert.fail('it was answered'),
        (error: unknown) => error,
      )
      assert.ok(APICallError.isInstance(error), `${name}: ${error}`)
      return error
    }
    const unknown = await failure('nobody', prompt)
    assert.deepEqual([unknown.statusCode, unknown.isRetryable], [404, false])
    assert.match(unknown.message, /nobody/)
    const busy = await failure('sandbox-1', 'sandbox:overloaded')
    assert.deepEqual([busy.statusCode, busy.isRetryable], [503, true])
    const errors: unknown[] = []
    const broken = streamText({
      model: chat('sandbox-1'),
      prompt: 'sandbox:error',
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    })
    let text = ''
    for await (const delta of broken.textStream) text += delta
    assert.ok(text.length > 0 && errors.length > 0, name)
  }
})
