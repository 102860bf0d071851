import type { ConversationSettings } from '../../../server/conversations/schema.ts'

/** Those of a conversation in which nothing was set. */
export const SETTINGS: ConversationSettings = {
  model: 'm',
  system: '',
  temperature: '',
  top_p: '',
  max_tokens: '',
  stop: '',
  seed: '',
  reasoning_effort: '',
  response_format: 'text',
  schema_name: 'answer',
  schema: '',
  tools: '',
}
