import { type Refusal, type Row, typed, wrongTypes } from './make-rows.ts'

const TOOL = { type: 'function', function: { name: 'look' } }
const NAME = '^[A-Za-z0-9_-]{1,64}$'
const unmatched = (name: string) =>
  `Invalid '${name}': string does not match pattern. Expected a string that matches the pattern '${NAME}'.`
const schema = (depth: number): object => (depth === 1 ? {} : { not: schema(depth - 1) })
const jsonSchema = (changes: object) => ({ type: 'json_schema', json_schema: { name: 'n', ...changes } })
const toolNamed = (name: unknown, more: object = {}) => ({ type: 'function', function: { name, ...more } })
const named = (name: string) => ({ type: 'function', function: { name } })

/** The parameters with schemas: the format of the answer, tools and the choice among them. */
export const SCHEMA_ROWS: readonly Row[] = [
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
        [toolNamed('a', { parameters: ['a'] })],
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
]
