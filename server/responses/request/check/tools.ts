import Type from 'typebox'
import { requireSmallSchema } from '../../../chat/check.ts'
import { ApiError } from '../../../platform/errors.ts'
import { isRecord } from '../../../platform/json/record.ts'
import { isLongJson } from '../../../platform/json/write.ts'
import { shape } from '../../../platform/schema/validate.ts'
import type { SentTool, SentToolChoice } from '../../schema/tools.ts'
import { type CustomTool, type FunctionTool, SENT_CHOICES, SENT_TOOLS, TEXTS_MAX } from '../../schema/tools.ts'

const LENIENT = { empty_is_absent: true }
const CHECKS = {
  function: shape(SENT_TOOLS.function, LENIENT),
  custom: shape(SENT_TOOLS.custom, LENIENT),
  namespace: shape(SENT_TOOLS.namespace, LENIENT),
}
const checkOther = shape(Type.Object({ type: Type.String() }))
const CHOICES = {
  mode: shape(SENT_CHOICES.mode),
  allowed: shape(SENT_CHOICES.allowed, LENIENT),
  named: shape(SENT_CHOICES.named, LENIENT),
}

/**
 * Checks each tool by its type: functions, custom tools and namespaces of them; any other needs only a type. Names are unique within a
 * namespace and outside of all namespaces. Throws ApiError 400. Source: contract 10.6.
 */
export function checkTools(unchecked: readonly unknown[], param = 'tools'): SentTool[] {
  if (isLongJson(unchecked, TEXTS_MAX.tools)) {
    const text = `Invalid '${param}': together longer than ${TEXTS_MAX.tools} characters. Shorten their descriptions and schemas.`
    throw new ApiError('invalid_value', text, { param })
  }
  const names = new Set<string>()
  return unchecked.map((each, i) => {
    const path = `${param}[${i}]`
    const tool = checkTool(each, path)
    if (isNamespace(tool)) {
      for (const [j, inner] of tool.tools.entries()) {
        checkNamed(inner, `${path}.tools[${j}]`, { names, namespace: tool.name })
      }
    } else if (isForwarded(tool)) checkNamed(tool, path, { names })
    return tool
  })
}

/** Checks the shape of the choice; `forwardTools` checks that the tools exist. Throws ApiError 400. */
export function checkToolChoice(unchecked: unknown): SentToolChoice {
  if (!isRecord(unchecked)) return CHOICES.mode(unchecked, 'tool_choice')
  return unchecked.type === 'allowed_tools'
    ? CHOICES.allowed(unchecked, 'tool_choice')
    : CHOICES.named(unchecked, 'tool_choice')
}

export function isNamespace(tool: SentTool): tool is Extract<SentTool, { type: 'namespace' }> {
  return tool.type === 'namespace'
}

/** Whether a tool is forwarded to the model on its own. */
export function isForwarded(tool: SentTool): tool is FunctionTool | CustomTool {
  return tool.type === 'function' || tool.type === 'custom'
}

function checkTool(unchecked: unknown, path: string): SentTool {
  const { type } = checkOther(unchecked, path)
  return type === 'function' || type === 'custom' || type === 'namespace'
    ? CHECKS[type](unchecked, path)
    : (unchecked as SentTool)
}

function checkNamed(
  tool: FunctionTool | CustomTool,
  path: string,
  { names, namespace = '' }: { names: Set<string>; namespace?: string },
): void {
  const key = JSON.stringify([namespace, tool.name])
  if (names.has(key)) {
    const text = `The tool name '${tool.name.slice(0, 64)}' is used twice. Give each tool its own name.`
    throw new ApiError('invalid_value', text, { param: `${path}.name` })
  }
  names.add(key)
  if (tool.type === 'function') requireSmallSchema(tool.parameters, `${path}.parameters`)
}
