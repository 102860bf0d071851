import type { ChatModel } from '../../api/chat-models.ts'
import type { Settings } from '../conversation/conversation.ts'
import { type Mistake, NAME, readSchema, readTools } from './check-json.ts'

/** The settings as request parameters: only those that are set. */
export type Parameters = {
  temperature?: number
  top_p?: number
  max_output_tokens?: number
  stop?: string | string[]
  seed?: number
  /** The summary is the reasoning that the page shows. */
  reasoning: { summary: 'auto'; effort?: string }
  text?: { format: object }
  tools?: object[]
}

/** A setting that cannot be sent. `min` and `max` for numbers out of range, `mistake` for JSON. */
export type SettingProblem = {
  field: keyof Settings
  problem:
    | 'missing'
    | 'not_number'
    | 'not_integer'
    | 'out_of_range'
    | 'too_many_stops'
    | 'bad_name'
    | 'json'
    | 'tools_unsupported'
    | 'schemas_unsupported'
  min?: number
  max?: number
  mistake?: Mistake
}

const STOPS_MAX = 4

/** Reads the settings for a model. What it does not support is a problem; an unknown reasoning effort is left out. */
export function readSettings(
  settings: Settings,
  model: ChatModel,
): { parameters: Parameters; problems: SettingProblem[] } {
  const parameters: Parameters = { reasoning: { summary: 'auto' } }
  const problems: SettingProblem[] = []
  const number = (
    field: 'temperature' | 'top_p' | 'max_tokens' | 'seed',
    limits: Limits,
    put: (value: number) => void,
  ) => {
    const read = readNumber(settings[field], limits)
    if (typeof read === 'number') put(read)
    else if (read !== null) problems.push({ field, problem: read, ...limits })
  }
  number('temperature', { min: 0, max: 2 }, (value) => (parameters.temperature = value))
  number('top_p', { min: 0, max: 1 }, (value) => (parameters.top_p = value))
  const most = model.max_output_tokens ?? Number.MAX_SAFE_INTEGER
  number('max_tokens', { min: 1, max: most, integer: true }, (value) => (parameters.max_output_tokens = value))
  number('seed', { integer: true }, (value) => (parameters.seed = value))
  const stops = readStops(settings.stop)
  if (stops.length > STOPS_MAX) problems.push({ field: 'stop', problem: 'too_many_stops', max: STOPS_MAX })
  else if (stops.length > 0) parameters.stop = stops.length === 1 ? stops[0]! : stops
  if (model.reasoning_efforts.includes(settings.reasoning_effort))
    parameters.reasoning.effort = settings.reasoning_effort
  readFormat(settings, model, parameters, problems)
  const tools = readTools(settings.tools)
  if ('mistake' in tools) problems.push({ field: 'tools', problem: 'json', mistake: tools.mistake })
  else if (tools.tools.length > 0) {
    parameters.tools = tools.tools.map((tool) => ({ type: 'function', ...tool.function }))
    if (!model.capabilities.includes('tools')) problems.push({ field: 'tools', problem: 'tools_unsupported' })
  }
  return { parameters, problems }
}

type Limits = { min?: number; max?: number; integer?: boolean }

/** Null when nothing was typed. */
function readNumber(text: string, { min = -Infinity, max = Infinity, integer }: Limits) {
  // Japanese input methods type full-width digits.
  const typed = text.normalize('NFKC').trim().replace(',', '.')
  if (typed === '') return null
  if (!/^[-+]?\d+(\.\d+)?$/.test(typed)) return integer ? 'not_integer' : 'not_number'
  const value = Number(typed)
  if (integer && !Number.isSafeInteger(value)) return 'not_integer'
  return value < min || value > max ? 'out_of_range' : value
}

/** One stop sequence per line; `\n` in it means a line break. */
function readStops(text: string): string[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => line.replace(/\\(n|t|\\)/g, (_, letter) => ESCAPED[letter as keyof typeof ESCAPED]))
}

const ESCAPED = { n: '\n', t: '\t', '\\': '\\' }

function readFormat(settings: Settings, model: ChatModel, parameters: Parameters, problems: SettingProblem[]): void {
  const { response_format, schema_name, schema } = settings
  if (response_format === 'text') return
  if (response_format === 'json_object') {
    parameters.text = { format: { type: 'json_object' } }
    return
  }
  if (!model.capabilities.includes('structured_outputs'))
    problems.push({ field: 'response_format', problem: 'schemas_unsupported' })
  if (!NAME.test(schema_name)) problems.push({ field: 'schema_name', problem: 'bad_name' })
  if (schema === '') {
    problems.push({ field: 'schema', problem: 'missing' })
    return
  }
  const read = readSchema(schema)
  if ('mistake' in read) problems.push({ field: 'schema', problem: 'json', mistake: read.mistake })
  else {
    parameters.text = { format: { type: 'json_schema', name: schema_name, strict: true, schema: read.schema } }
  }
}
