import { type JsonPath, type JsonProblem, type JsonText, readJson } from './parse-json.ts'

export type Tool = {
  type: 'function'
  function: { name: string; description?: string; parameters?: object; strict?: boolean }
}

export type ShapeProblem =
  | 'not_object'
  | 'not_list'
  | 'too_many'
  | 'not_function'
  | 'no_function'
  | 'no_name'
  | 'bad_name'
  | 'name_taken'
  | 'description_not_string'
  | 'parameters_not_object'
  | 'strict_not_boolean'

/** What is wrong with a JSON text, and in which line. */
export type Mistake = { line: number; column?: number; problem: JsonProblem | ShapeProblem }

const TOOLS_MAX = 128
/** Source: contract 9.1. */
export const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** The tools of a text, as the API takes them; none when it is empty. One tool may stand without the list around it. */
export function readTools(text: string): { tools: Tool[] } | { mistake: Mistake } {
  if (text.trim() === '') return { tools: [] }
  const read = readJson(text)
  if ('mistake' in read) return read
  const { value } = read.json
  if (!Array.isArray(value) && !isObject(value)) return wrong(read.json, [], 'not_list')
  const alone = !Array.isArray(value)
  const list = alone ? [value] : value
  const names = new Set<string>()
  for (const [i, tool] of list.entries()) {
    const problem = toolProblem(tool, names)
    if (problem) return wrong(read.json, [...(alone ? [] : [i]), ...problem.path], problem.problem)
    names.add((tool as Tool).function.name)
  }
  if (list.length > TOOLS_MAX) return wrong(read.json, [TOOLS_MAX], 'too_many')
  return { tools: list as Tool[] }
}

/** A JSON Schema: any object. */
export function readSchema(text: string): { schema: Record<string, unknown> } | { mistake: Mistake } {
  const read = readJson(text)
  if ('mistake' in read) return read
  return isObject(read.json.value) ? { schema: read.json.value } : wrong(read.json, [], 'not_object')
}

function toolProblem(tool: unknown, names: ReadonlySet<string>): { path: JsonPath; problem: ShapeProblem } | null {
  if (!isObject(tool)) return { path: [], problem: 'not_object' }
  if (tool.type !== 'function') return { path: 'type' in tool ? ['type'] : [], problem: 'not_function' }
  const called = tool.function
  if (!isObject(called)) return { path: 'function' in tool ? ['function'] : [], problem: 'no_function' }
  const { name, description, parameters, strict } = called
  if (typeof name !== 'string')
    return { path: 'name' in called ? ['function', 'name'] : ['function'], problem: 'no_name' }
  const at = (member: string, problem: ShapeProblem) => ({ path: ['function', member], problem })
  if (!NAME.test(name)) return at('name', 'bad_name')
  if (names.has(name)) return at('name', 'name_taken')
  if (description != null && typeof description !== 'string') return at('description', 'description_not_string')
  if (parameters != null && !isObject(parameters)) return at('parameters', 'parameters_not_object')
  if (strict != null && typeof strict !== 'boolean') return at('strict', 'strict_not_boolean')
  return null
}

function wrong({ lineOf }: JsonText, path: JsonPath, problem: ShapeProblem): { mistake: Mistake } {
  return { mistake: { line: lineOf(path), problem } }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
