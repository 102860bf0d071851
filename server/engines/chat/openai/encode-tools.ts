import type { ChatTool, ChatToolChoice } from '../contract.ts'

/**
 * `tools`, `tool_choice` and `parallel_tool_calls`. A choice among allowed tools becomes those tools alone with its mode, which every
 * server understands.
 */
export function encodeTools(
  tools: ChatTool[],
  { tool_choice, parallel_tool_calls }: { tool_choice?: ChatToolChoice; parallel_tool_calls?: boolean },
): object {
  if (typeof tool_choice !== 'object' || tool_choice.type !== 'allowed_tools') {
    return { tools: tools.map(encodeTool), tool_choice: encodeChoice(tool_choice), parallel_tool_calls }
  }
  const { mode, tools: named } = tool_choice.allowed_tools
  const names = new Set(named.map((tool) => tool.function.name))
  const allowed = tools.filter((tool) => names.has(tool.function.name))
  if (allowed.length === 0) return {}
  return { tools: allowed.map(encodeTool), tool_choice: mode, parallel_tool_calls }
}

function encodeTool({ function: { name, description, parameters, strict } }: ChatTool): object {
  return { type: 'function', function: { name, description, parameters, strict } }
}

function encodeChoice(choice: Exclude<ChatToolChoice, { type: 'allowed_tools' }> | undefined): unknown {
  return typeof choice === 'object' ? { type: 'function', function: { name: choice.function.name } } : choice
}
