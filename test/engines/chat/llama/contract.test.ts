import { test } from 'node:test'
import type { ChatRequest } from '../../../../server/engines/chat/contract.ts'
import { chatEngineContract, textRequest } from '../contract.ts'
import { realModel, standIn, without_llama } from './models.ts'

const tools: ChatRequest['tools'] = [
  {
    type: 'function',
    function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]
const response_format: ChatRequest['response_format'] = {
  type: 'json_schema',
  json_schema: { name: 'a', schema: { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] } },
}

chatEngineContract('llama', async () => ({
  engine: standIn(),
  model: 'm',
  asks: [
    textRequest('m', { tools, messages: [{ role: 'user', content: 'CALL' }] }),
    textRequest('m', { response_format }),
    textRequest('m', { messages: [{ role: 'user', content: 'THINK about it' }] }),
  ],
}))

if (without_llama === false) {
  const max_tokens = 12
  chatEngineContract('llama with llama.cpp', async () => {
    const engine = realModel()
    return {
      // A model of random weights seldom ends an answer.
      engine: { ...engine, generate: (request, signal) => engine.generate({ max_tokens, ...request }, signal) },
      model: 'm',
      asks: [textRequest('m', { response_format, max_tokens: 200 }), textRequest('m', { tools })],
    }
  })
} else {
  test('the contract with llama.cpp itself', { skip: without_llama }, () => undefined)
}
