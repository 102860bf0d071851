import { createHash } from 'node:crypto'
import type { ChatRequest, ChatTool } from '../chat.ts'
import { chanceOf } from '../storyboard/chance.ts'
import type { Prompt } from './prompt.ts'
import { valueFor } from './schema-value.ts'
import { isRecord, isSchema } from './schema-view.ts'

export type Call = { name: string; arguments: string }

/**
 * The calls every choice of an answer consists of; none when it is to be text. Tools are called in the user's turn only: the one `tool_choice` names,
 * else those the prompt names (one without `parallel_tool_calls`), else the first that is allowed.
 */
export function callsFor(request: ChatRequest, prompt: Prompt): Call[] {
  if (!prompt.is_users_turn) return []
  return chosenTools(request, prompt).map(({ function: { name, parameters } }) => {
    const value = isSchema(parameters) ? valueFor(parameters, prompt.clues, chanceOf(`${prompt.seed}/${name}`)) : {}
    return { name, arguments: JSON.stringify(isRecord(value) ? value : {}) }
  })
}

/** The same for the same request, and no other call of it has it. */
export function callId(prompt: Prompt, choice: number, call: number): string {
  return `call_${createHash('sha256').update(`${prompt.seed}/${choice}/${call}`).digest('hex').slice(0, 24)}`
}

function chosenTools(
  { tools = [], tool_choice = 'auto', parallel_tool_calls }: ChatRequest,
  prompt: Prompt,
): ChatTool[] {
  if (tool_choice === 'none') return []
  if (typeof tool_choice === 'object' && tool_choice.type === 'function')
    return tools.filter((tool) => tool.function.name === tool_choice.function.name)
  const allowed =
    typeof tool_choice === 'object' ? tool_choice.allowed_tools.tools.map((tool) => tool.function.name) : null
  const offered = tools.filter((tool) => allowed === null || allowed.includes(tool.function.name))
  const named = offered.filter((tool) => mentions(prompt.text, tool.function.name))
  const some = named.length > 0 ? named : offered.slice(0, 1)
  return parallel_tool_calls === false ? some.slice(0, 1) : some
}

/** Whether the text holds the name as a word of its own. */
function mentions(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const isWord = (character: string | undefined) => character !== undefined && /[\w-]/.test(character)
    if (!isWord(text[at - 1]) && !isWord(text[at + name.length])) return true
  }
  return false
}
