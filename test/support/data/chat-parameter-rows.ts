/** A refusal: the value, its code, its message, and its path where that is not the parameter itself. */
export type Refusal = [value: unknown, code: string, message: string, param?: string]
/** One parameter of the body: what it takes, what it refuses, and the members it needs beside it. */
export type Row = { name: string; takes: unknown[]; refuses: Refusal[]; beside?: Record<string, unknown> }

const TOOL = { type: 'function', function: { name: 'look' } }

export const article = (kind: string) => `${/^[aeio]/.test(kind) ? 'an' : 'a'} ${kind}`
export const typed = (name: string, expected: string, got: string): string =>
  `Invalid type for '${name}': expected ${expected}, but got ${got} instead.`

/** Every JSON value that is not of the wanted type. `null` is none of them: it means absent. */
function wrongTypes(name: string, wanted: string, expected = article(wanted)): Refusal[] {
  const values: Array<[kind: string, value: unknown, shown: string]> = [
    ['string', 'x', 'a string'],
    ['boolean', true, 'a boolean'],
    ['array', [], 'an array'],
    ['object', {}, 'an object'],
    ['integer', 1, 'an integer'],
    ['number', 0.5, 'a decimal number'],
  ]
  const fits = (kind: string) => wanted.split('|').includes(kind) || (wanted === 'number' && kind === 'integer')
  return values
    .filter(([kind]) => !fits(kind))
    .map(([, value, shown]) => [value, 'invalid_type', typed(name, expected, shown)])
}

/** A number within limits, both included: just below, at, between and just above them. */
function numberRow(
  name: string,
  kind: 'number' | 'integer',
  limits: { min?: number; max?: number; beside?: object },
): Row {
  const { min, max, beside } = limits
  const step = kind === 'integer' ? 1 : 0.001
  const word = kind === 'integer' ? 'integer' : 'decimal'
  const refuses: Refusal[] = []
  if (min !== undefined) {
    for (const value of [min - step, min - 1000]) {
      const text = `Invalid '${name}': ${word} below minimum value. Expected a value >= ${min}, but got ${value} instead.`
      refuses.push([value, `${word}_below_min_value`, text])
    }
  }
  if (max !== undefined) {
    for (const value of [max + step, 1e15]) {
      const text = `Invalid '${name}': ${word} above maximum value. Expected a value <= ${max}, but got ${value} instead.`
      refuses.push([value, `${word}_above_max_value`, text])
    }
  }
  const takes = [min ?? -7, max ?? 1_000_000, ((min ?? 0) + (max ?? 2)) / 2].filter(
    (n) => kind === 'number' || Number.isInteger(n),
  )
  return { name, takes, refuses: [...refuses, ...wrongTypes(name, kind)], ...(beside ? { beside: { ...beside } } : {}) }
}

const booleanRow = (name: string, beside = {}): Row => ({
  name,
  takes: [true, false],
  refuses: [...wrongTypes(name, 'boolean'), ['true', 'invalid_type', typed(name, 'a boolean', 'a string')]],
  beside,
})

const NAME = '^[A-Za-z0-9_-]{1,64}$'
const unmatched = (name: string) =>
  `Invalid '${name}': string does not match pattern. Expected a string that matches the pattern '${NAME}'.`
const schema = (depth: number): object => (depth === 1 ? {} : { not: schema(depth - 1) })
const jsonSchema = (changes: object) => ({ type: 'json_schema', json_schema: { name: 'n', ...changes } })
const toolNamed = (name: unknown, more: object = {}) => ({ type: 'function', function: { name, ...more } })
const named = (name: string) => ({ type: 'function', function: { name } })

/** Every parameter of a chat completion but `model` and `messages`. */
export const PARAMETER_ROWS: readonly Row[] = [
  booleanRow('stream'),
  numberRow('temperature', 'number', { min: 0, max: 2 }),
  numberRow('top_p', 'number', { min: 0, max: 1 }),
  numberRow('n', 'integer', { min: 1, max: 128 }),
  numberRow('max_tokens', 'integer', { min: 1 }),
  numberRow('max_completion_tokens', 'integer', { min: 1 }),
  numberRow('frequency_penalty', 'number', { min: -2, max: 2 }),
  numberRow('presence_penalty', 'number', { min: -2, max: 2 }),
  booleanRow('logprobs'),
  numberRow('top_logprobs', 'integer', { min: 0, max: 20, beside: { logprobs: true } }),
  numberRow('seed', 'integer', {}),
  numberRow('top_k', 'integer', {}),
  numberRow('min_p', 'number', { min: 0, max: 1 }),
  booleanRow('parallel_tool_calls'),
  {
    name: 'repetition_penalty',
    takes: [0.001, 1, 50],
    refuses: [
      [
        0,
        'decimal_below_min_value',
        "Invalid 'repetition_penalty': decimal below minimum value. Expected a value > 0, but got 0 instead.",
      ],
      [
        -1,
        'decimal_below_min_value',
        "Invalid 'repetition_penalty': decimal below minimum value. Expected a value > 0, but got -1 instead.",
      ],
      ...wrongTypes('repetition_penalty', 'number'),
    ],
  },
  {
    name: 'stream_options',
    takes: [{}, { include_usage: true }, { include_usage: null, include_obfuscation: false }, { later: 1 }],
    refuses: [
      ...wrongTypes('stream_options', 'object'),
      [
        { include_usage: 1 },
        'invalid_type',
        typed('stream_options.include_usage', 'a boolean', 'an integer'),
        'stream_options.include_usage',
      ],
      [
        { include_obfuscation: 'no' },
        'invalid_type',
        typed('stream_options.include_obfuscation', 'a boolean', 'a string'),
        'stream_options.include_obfuscation',
      ],
    ],
    beside: { stream: true },
  },
  {
    name: 'stop',
    takes: ['x', [], ['a'], ['a', 'b', 'c', 'd']],
    refuses: [
      ...wrongTypes('stop', 'string|array', 'a string or an array'),
      [
        ['a', 'b', 'c', 'd', 'e'],
        'array_above_max_length',
        "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead.",
      ],
      [['a', 7], 'invalid_type', typed('stop[1]', 'a string', 'an integer'), 'stop[1]'],
      [[null], 'invalid_type', typed('stop[0]', 'a string', 'null'), 'stop[0]'],
    ],
  },
  {
    name: 'logit_bias',
    takes: [{}, { 50256: -100, 7: 100, 0: 0.5 }],
    refuses: [
      ...wrongTypes('logit_bias', 'object'),
      [
        { 7: 100.5 },
        'decimal_above_max_value',
        "Invalid 'logit_bias.7': decimal above maximum value. Expected a value <= 100, but got 100.5 instead.",
        'logit_bias.7',
      ],
      [
        { 7: -101 },
        'decimal_below_min_value',
        "Invalid 'logit_bias.7': decimal below minimum value. Expected a value >= -100, but got -101 instead.",
        'logit_bias.7',
      ],
      [{ 7: '1' }, 'invalid_type', typed('logit_bias.7', 'a number', 'a string'), 'logit_bias.7'],
      [{ 7: null }, 'invalid_type', typed('logit_bias.7', 'a number', 'null'), 'logit_bias.7'],
      [{ cat: 1 }, 'invalid_value', "Invalid 'logit_bias': its keys are token ids.", 'logit_bias.cat'],
      [{ '-1': 1 }, 'invalid_value', "Invalid 'logit_bias': its keys are token ids.", 'logit_bias.-1'],
    ],
  },
  {
    name: 'response_format',
    takes: [
      { type: 'text' },
      { type: 'json_object' },
      jsonSchema({}),
      jsonSchema({ schema: schema(32), strict: null, description: 'd' }),
      jsonSchema({ name: 'a_B-9'.padEnd(64, 'x') }),
    ],
    refuses: [
      ...wrongTypes('response_format', 'object').filter(([, , message]) => !message.includes('got an object')),
      [{}, 'missing_required_parameter', "Missing required parameter: 'response_format.type'.", 'response_format.type'],
      [
        { type: 'xml' },
        'invalid_value',
        "Invalid value: 'xml'. Supported values are: 'text', 'json_object', and 'json_schema'.",
        'response_format.type',
      ],
      [
        { type: 'json_schema' },
        'missing_required_parameter',
        "Missing required parameter: 'response_format.json_schema'.",
        'response_format.json_schema',
      ],
      [
        { type: 'json_schema', json_schema: {} },
        'missing_required_parameter',
        "Missing required parameter: 'response_format.json_schema.name'.",
        'response_format.json_schema.name',
      ],
      ...['', 'a b', 'x'.repeat(65), 'é', 'a\n'].map(
        (name): Refusal => [
          jsonSchema({ name }),
          'invalid_value',
          unmatched('response_format.json_schema.name'),
          'response_format.json_schema.name',
        ],
      ),
      [
        jsonSchema({ schema: 'x' }),
        'invalid_type',
        typed('response_format.json_schema.schema', 'an object', 'a string'),
        'response_format.json_schema.schema',
      ],
      [
        jsonSchema({ schema: schema(33) }),
        'invalid_value',
        "Invalid 'response_format.json_schema.schema': nested deeper than 32 levels.",
        'response_format.json_schema.schema',
      ],
      [
        jsonSchema({ schema: { title: 'x'.repeat(65_536) } }),
        'invalid_value',
        "Invalid 'response_format.json_schema.schema': larger than 65536 bytes.",
        'response_format.json_schema.schema',
      ],
      [
        jsonSchema({ strict: 'yes' }),
        'invalid_type',
        typed('response_format.json_schema.strict', 'a boolean', 'a string'),
        'response_format.json_schema.strict',
      ],
    ],
  },
  {
    name: 'tools',
    takes: [
      [],
      [TOOL],
      [toolNamed('a', { description: null, parameters: null, strict: null })],
      [toolNamed('a', { description: 'd', parameters: schema(32), strict: true })],
      Array.from({ length: 128 }, (_, i) => toolNamed(`t${i}`)),
    ],
    refuses: [
      ...wrongTypes('tools', 'array'),
      [
        Array.from({ length: 129 }, (_, i) => toolNamed(`t${i}`)),
        'array_above_max_length',
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead.",
      ],
      [['x'], 'invalid_type', typed('tools[0]', 'an object', 'a string'), 'tools[0]'],
      [
        [{ function: { name: 'a' } }],
        'missing_required_parameter',
        "Missing required parameter: 'tools[0].type'.",
        'tools[0].type',
      ],
      [
        [TOOL, { type: 'web_search' }],
        'invalid_value',
        "Invalid value: 'web_search'. Supported value is: 'function'.",
        'tools[1].type',
      ],
      [
        [{ type: 'function' }],
        'missing_required_parameter',
        "Missing required parameter: 'tools[0].function'.",
        'tools[0].function',
      ],
      [
        [{ type: 'function', function: {} }],
        'missing_required_parameter',
        "Missing required parameter: 'tools[0].function.name'.",
        'tools[0].function.name',
      ],
      ...['', 'a.b', 'x'.repeat(65), '猫'].map(
        (name): Refusal => [
          [toolNamed(name)],
          'invalid_value',
          unmatched('tools[0].function.name'),
          'tools[0].function.name',
        ],
      ),
      [
        [toolNamed(7)],
        'invalid_type',
        typed('tools[0].function.name', 'a string', 'an integer'),
        'tools[0].function.name',
      ],
      [
        [TOOL, toolNamed('b'), TOOL],
        'invalid_value',
        "The tool name 'look' is used twice. Give each tool its own name.",
        'tools[2].function.name',
      ],
      [
        [toolNamed('a', { parameters: [] })],
        'invalid_type',
        typed('tools[0].function.parameters', 'an object', 'an array'),
        'tools[0].function.parameters',
      ],
      [
        [toolNamed('a', { parameters: schema(33) })],
        'invalid_value',
        "Invalid 'tools[0].function.parameters': nested deeper than 32 levels.",
        'tools[0].function.parameters',
      ],
      [
        [toolNamed('a', { strict: 1 })],
        'invalid_type',
        typed('tools[0].function.strict', 'a boolean', 'an integer'),
        'tools[0].function.strict',
      ],
    ],
  },
  {
    name: 'tool_choice',
    takes: [
      'none',
      'auto',
      'required',
      named('look'),
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('look')] } },
    ],
    refuses: [
      ...wrongTypes('tool_choice', 'string|object', 'a string or an object'),
      ['any', 'invalid_value', "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'."],
      [{}, 'missing_required_parameter', "Missing required parameter: 'tool_choice.type'.", 'tool_choice.type'],
      [
        { type: 'custom' },
        'invalid_value',
        "Invalid value: 'custom'. Supported values are: 'function' and 'allowed_tools'.",
        'tool_choice.type',
      ],
      [
        { type: 'function' },
        'missing_required_parameter',
        "Missing required parameter: 'tool_choice.function'.",
        'tool_choice.function',
      ],
      [named('seek'), 'invalid_value', "The tool 'seek' is not among 'tools'.", 'tool_choice.function.name'],
      [
        { type: 'allowed_tools', allowed_tools: { mode: 'none', tools: [named('look')] } },
        'invalid_value',
        "Invalid value: 'none'. Supported values are: 'auto' and 'required'.",
        'tool_choice.allowed_tools.mode',
      ],
      [
        { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('look'), named('seek')] } },
        'invalid_value',
        "The tool 'seek' is not among 'tools'.",
        'tool_choice.allowed_tools.tools[1].function.name',
      ],
      [
        { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } },
        'array_below_min_length',
        "Invalid 'tool_choice.allowed_tools.tools': array too short. Expected an array with minimum length 1, but got an array with length 0 instead.",
        'tool_choice.allowed_tools.tools',
      ],
    ],
    beside: { tools: [TOOL] },
  },
  { name: 'reasoning_effort', takes: ['low', 'anything'], refuses: wrongTypes('reasoning_effort', 'string') },
  { name: 'user', takes: ['', 'u-1', '猫'], refuses: wrongTypes('user', 'string') },
  {
    name: 'metadata',
    takes: [
      {},
      { k: '' },
      { ['k'.repeat(64)]: 'v'.repeat(512) },
      { ['😀'.repeat(64)]: '😀'.repeat(512) },
      Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, 'v'])),
    ],
    refuses: [
      ...wrongTypes('metadata', 'object'),
      [
        Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])),
        'object_above_max_properties',
        "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, but got an object with 17 properties instead.",
      ],
      [
        { k: 'v'.repeat(513) },
        'string_above_max_length',
        "Invalid 'metadata.k': string too long. Expected a string with maximum length 512, but got a string with length 513 instead.",
        'metadata.k',
      ],
      [{ k: 1 }, 'invalid_type', typed('metadata.k', 'a string', 'an integer'), 'metadata.k'],
      [{ k: null }, 'invalid_type', typed('metadata.k', 'a string', 'null'), 'metadata.k'],
      [{ ['k'.repeat(65)]: 'v' }, 'invalid_value', "Invalid 'metadata': its keys have 1 to 64 characters."],
      [{ '': 'v' }, 'invalid_value', "Invalid 'metadata': its keys have 1 to 64 characters."],
    ],
  },
  {
    name: 'modalities',
    takes: [[], ['text']],
    refuses: [
      ...wrongTypes('modalities', 'array'),
      [
        ['text', 'audio'],
        'unsupported_parameter',
        "Unsupported parameter: 'modalities' with anything but 'text' is not supported.",
      ],
    ],
  },
]
