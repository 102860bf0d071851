import { sandboxChat } from '../../../../server/engines/chat/sandbox/adapter.ts'
import { chatEngineContract, textRequest } from '../contract.ts'

const parameters = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] }
const tools = [{ type: 'function' as const, function: { name: 'find_tide', parameters } }]
const format = { type: 'json_schema' as const, json_schema: { name: 'tide', schema: parameters } }

chatEngineContract('sandbox', async () => ({
  engine: sandboxChat({ kind: 'sandbox' }),
  model: 'sandbox-1',
  asks: [
    textRequest('sandbox-1', { tools, n: 2 }),
    textRequest('sandbox-1', { response_format: format }),
    textRequest('sandbox-1', { reasoning_effort: 'high', max_tokens: 20 }),
    textRequest('sandbox-1', { messages: [{ role: 'user', content: 'sandbox:refuse' }] }),
  ],
}))
