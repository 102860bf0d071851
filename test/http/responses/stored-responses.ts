import { newItemId, newResponseId } from '../../../server/responses/ids.ts'
import type { Item, OutputItem } from '../../../server/responses/schema/items.ts'
import type { ResponseObject } from '../../../server/responses/schema/response.ts'
import { saveResponse } from '../../../server/responses/stored/save.ts'
import type { TestApp, TestPerson } from '../../support/http/app.ts'

/** A response object with every member, completed by default. Its usage is zero, since nothing is charged for it. */
export function responseObject(changes: Partial<ResponseObject> = {}): ResponseObject {
  return {
    id: newResponseId(),
    object: 'response',
    created_at: 1_790_000_000,
    completed_at: 1_790_000_001,
    status: 'completed',
    incomplete_details: null,
    error: null,
    model: 'm',
    previous_response_id: null,
    instructions: null,
    output: [],
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    truncation: 'disabled',
    text: { format: { type: 'text' } },
    reasoning: { effort: null, summary: null },
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    max_output_tokens: null,
    max_tool_calls: null,
    store: true,
    background: false,
    service_tier: 'default',
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
    user: null,
    usage: {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    },
    ...changes,
  }
}

/** A user message. */
export function userMessage(text: string, id = newItemId('msg')): Item {
  return { id, type: 'message', status: 'completed', role: 'user', content: [{ type: 'input_text', text }] }
}

/** A message of the model. */
export function assistantMessage(
  text: string,
  status: 'completed' | 'incomplete' = 'completed',
  id = newItemId('msg'),
): OutputItem {
  const content = [{ type: 'output_text' as const, text, annotations: [], logprobs: [] }]
  return { id, type: 'message', status, role: 'assistant', content }
}

/** Stores a response of this person as an answered request would, and returns it with its input. */
export async function storeResponse(
  app: TestApp,
  person: Pick<TestPerson, 'org_id' | 'user_id' | 'key_id'>,
  changes: Partial<ResponseObject> = {},
  input: readonly Item[] = [userMessage('Hello')],
): Promise<ResponseObject> {
  const response = responseObject({ output: [assistantMessage('Hello there.')], ...changes })
  const principal = { ...person, role: 'member', plan: 'free', via: 'api_key', session_id: null } as const
  await saveResponse(app.ctx, { principal, request_id: `req_${response.id}` }, { response, input })
  return response
}

/** Stores a chain of `length` responses and returns it, oldest first. */
export async function storeChain(
  app: TestApp,
  person: Pick<TestPerson, 'org_id' | 'user_id' | 'key_id'>,
  length: number,
): Promise<ResponseObject[]> {
  const chain: ResponseObject[] = []
  for (let turn = 0; turn < length; turn++) {
    const previous_response_id = chain.at(-1)?.id ?? null
    const output = [assistantMessage(`answer ${turn}`)]
    chain.push(await storeResponse(app, person, { previous_response_id, output }, [userMessage(`question ${turn}`)]))
  }
  return chain
}
