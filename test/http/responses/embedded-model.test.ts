import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Wire } from '../../support/data/response-grammar.ts'
import type { TestPerson } from '../../support/http/app.ts'
import { customer, type MeteredChatApp, startMeteredChatApp } from '../../support/http/metered-chat-app.ts'
import { createResponse, functionTool } from '../../support/http/response-requests.ts'

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
})
after(async () => {
  assert.deepEqual(await service.app.audit(), {})
  await service.close()
})

const answer = async (changes: Record<string, unknown>) => {
  const { status, text, body } = await createResponse(service.app, person, changes)
  assert.equal(status, 200, text)
  return body
}
const types = ({ output }: Wire) => output.map(({ type }: Wire) => type)

test('200: the embedded model reasons, calls tools, answers in JSON, reads images and refuses', async () => {
  const model = 'sandbox-1'
  const thinking = await answer({ model, reasoning: { effort: 'low', summary: 'auto' } })
  assert.deepEqual(types(thinking), ['reasoning', 'message'])
  const weather = functionTool('get_weather', {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  })
  const input = [{ role: 'user', content: 'What is the weather in Paris?' }]
  const calling = await answer({ model, input, tools: [weather] })
  assert.deepEqual(types(calling), ['function_call'])
  assert.equal(typeof JSON.parse(calling.output[0].arguments).city, 'string')
  const { call_id } = calling.output[0]
  const result = { type: 'function_call_output', call_id, output: 'Sunny' }
  const done = await answer({ model, tools: [weather], previous_response_id: calling.id, input: [result] })
  assert.deepEqual(types(done), ['message'])
  const schema = {
    type: 'object',
    properties: { n: { type: 'integer' } },
    required: ['n'],
    additionalProperties: false,
  }
  const shaped = await answer({ model, text: { format: { type: 'json_schema', name: 'n', schema } } })
  assert.ok(Number.isInteger(JSON.parse(shaped.output[0].content[0].text).n))
  const picture =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
  const looking = await answer({
    model,
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: picture },
          { type: 'input_text', text: 'What?' },
        ],
      },
    ],
  })
  assert.deepEqual(types(looking), ['message'])
  const refusing = await answer({ model, input: 'sandbox:refuse' })
  assert.equal(refusing.output[0].content[0].type, 'refusal')
})
