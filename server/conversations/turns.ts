import { isId } from '../platform/ids.ts'
import type { Item } from '../responses/schema/items.ts'
import type { JoinConversation } from '../responses/stored/save.ts'
import { insertTurn } from './store.ts'

/** Characters of a question that a search looks at. */
const QUESTION_MAX = 4000

/** Puts a response into the conversation that `metadata.conversation_id` names, if that is one of the caller's. */
export const joinConversation: JoinConversation = async (tx, caller, { response, input, now }) => {
  const { conversation_id: id } = response.metadata as Record<string, string>
  if (id === undefined || !isId('conversation', id)) return
  await insertTurn(tx, caller, { id, response_id: response.id, question: questionIn(input), now })
}

/** What the person wrote. */
function questionIn(input: readonly Item[]): string {
  const texts = input.flatMap((item) =>
    item.type === 'message' && item.role === 'user'
      ? item.content.flatMap((part) => (part.type === 'input_text' ? [part.text] : []))
      : [],
  )
  return texts.join('\n').slice(0, QUESTION_MAX).toWellFormed()
}
