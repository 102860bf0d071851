import { booleanRow, numberRow, type Row, typed, wrongTypes } from './make-rows.ts'
import { SCHEMA_ROWS } from './schema-rows.ts'

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
    takes: [{}, [], { include_usage: true }, { include_usage: null, include_obfuscation: false }, { later: 1 }],
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
    takes: ['x', '', [], [''], ['a'], ['a', 'b', 'c', 'd']],
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
    takes: [{}, [], { 50256: -100, 7: 100, 0: 0.5 }],
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
  ...SCHEMA_ROWS,
  { name: 'reasoning_effort', takes: ['low', 'anything', ''], refuses: wrongTypes('reasoning_effort', 'string') },
  { name: 'user', takes: ['', 'u-1', '猫'], refuses: wrongTypes('user', 'string') },
  {
    name: 'metadata',
    takes: [
      {},
      [],
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
