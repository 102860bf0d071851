import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatModelConfig } from '../config/config.ts'
import { ApiError } from '../platform/errors.ts'
import { checkChatBody, checkModelParameters } from './check.ts'
import { chatNames, chatParameters, extraParams } from './request.ts'

const BASE = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
const TOOL = { type: 'function', function: { name: 'look' } }
const named = (name: string) => ({ type: 'function', function: { name } })

test('a body that needs no change is returned as it is, and null of an optional member is dropped', () => {
  const body = { ...BASE, temperature: 1, unknown: null }
  assert.equal(checkChatBody(body), body)
  const { temperature, ...rest } = checkChatBody({ ...BASE, temperature: null })
  assert.equal(temperature, undefined)
  assert.deepEqual({ ...rest }, BASE)
})

test('a body that is not an object is refused without a path', () => {
  for (const [body, shown] of [
    [[], 'an array'],
    ['x', 'a string'],
    [null, 'null'],
    [undefined, 'nothing'],
  ] as const) {
    const message = `Invalid request body: expected an object, but got ${shown} instead.`
    assert.deepEqual(
      refusal(() => checkChatBody(body)),
      { code: 'invalid_type', message, param: null },
    )
  }
})

test('parameters that require others: stream_options needs stream, top_logprobs logprobs, tool_choice tools', () => {
  const streams = "'stream_options' is only allowed when 'stream' is true."
  const logs = "'top_logprobs' is only allowed when 'logprobs' is true."
  const cases: Array<[changes: object, message: string, param: string]> = [
    [{ stream_options: {} }, streams, 'stream_options'],
    [{ stream: false, stream_options: { include_usage: true } }, streams, 'stream_options'],
    [{ stream: null, stream_options: { include_usage: true } }, streams, 'stream_options'],
    [{ top_logprobs: 1 }, logs, 'top_logprobs'],
    [{ logprobs: false, top_logprobs: 5 }, logs, 'top_logprobs'],
    [{ tool_choice: 'required' }, "'tool_choice' is 'required', but there are no 'tools'.", 'tool_choice'],
    [{ tools: [], tool_choice: named('look') }, "The tool 'look' is not among 'tools'.", 'tool_choice.function.name'],
  ]
  for (const [changes, message, param] of cases) {
    assert.deepEqual(
      refusal(() => checkChatBody({ ...BASE, ...changes })),
      { code: 'invalid_value', message, param },
    )
  }
  for (const tool_choice of ['auto', 'none']) assert.doesNotThrow(() => checkChatBody({ ...BASE, tool_choice }))
})

const MODEL: ChatModelConfig = {
  ...{
    id: 'm',
    name: 'M',
    description: '',
    engine: 'sandbox',
    created: 0,
    shutdown_date: null,
    context_length: null,
    max_output_tokens: 100,
  },
  capabilities: [],
  reasoning_efforts: ['low', 'high'],
  default_reasoning_effort: null,
  extra_params: [],
  ...{
    n: 'native' as const,
    hash_user: false,
    expose_raw_reasoning: false,
    prices: { input: 0n, cached_input: 0n, output: 0n },
  },
}

test('a reasoning effort is accepted when the model lists it, and the error names those it lists', () => {
  for (const reasoning_effort of ['low', 'high']) check({ reasoning_effort })
  const head = "Unsupported value: 'reasoning_effort' does not support 'medium' with this model."
  const remedies: Array<[efforts: string[], remedy: string]> = [
    [['low', 'high'], "Supported values are: 'low' and 'high'."],
    [['low', 'high', 'xhigh'], "Supported values are: 'low', 'high', and 'xhigh'."],
    [['max'], "Supported value is: 'max'."],
    [[], 'Leave it out: this model does not reason.'],
  ]
  for (const [reasoning_efforts, remedy] of remedies) {
    const found = refusal(() => check({ reasoning_effort: 'medium' }, { reasoning_efforts }))
    assert.deepEqual(found, { code: 'unsupported_value', message: `${head} ${remedy}`, param: 'reasoning_effort' })
  }
})

test('tools, a JSON schema and log probabilities need their capability, and only that one', () => {
  const json_schema = { name: 'n' }
  const cases = [
    ['tools', { tools: [TOOL] }, 'tools', 'tools'],
    [
      'structured_outputs',
      { response_format: { type: 'json_schema', json_schema } },
      'response_format',
      'a JSON schema',
    ],
    ['logprobs', { logprobs: true }, 'logprobs', 'log probabilities'],
  ] as const
  for (const [capability, changes, param, what] of cases) {
    const message = `The model 'm' does not take ${what}. GET /v1/models lists what each model takes.`
    assert.deepEqual(
      refusal(() => check(changes)),
      { code: 'model_capability_mismatch', message, param },
    )
    check(changes, { capabilities: [capability] })
  }
  for (const changes of [{ tools: [] }, { logprobs: false }, { response_format: { type: 'json_object' } }]) {
    check(changes)
  }
})

test("output tokens are bounded by the model's limit under both names; of two limits only the one that wins is checked", () => {
  for (const name of ['max_tokens', 'max_completion_tokens']) {
    check({ [name]: 100 })
    check({ [name]: 2 ** 40 }, { max_output_tokens: null })
    const message = `Invalid '${name}': integer above maximum value. Expected a value <= 100, but got 101 instead.`
    const found = refusal(() => check({ [name]: 101 }))
    assert.deepEqual(found, { code: 'integer_above_max_value', message, param: name })
  }
  for (const max_tokens of [101, -1, 'many']) check({ max_tokens, max_completion_tokens: 5 })
})

function check(changes: object, of_model: Partial<ChatModelConfig> = {}): void {
  const body = checkChatBody({ ...BASE, ...changes })
  checkModelParameters(chatParameters(body), { ...MODEL, ...of_model }, chatNames(body))
}

test('extra members are passed on only when the model lists them, and never when inherited or null', () => {
  const body = JSON.parse(
    '{"verbosity":"low","min_tokens":null,"ignore_eos":true,"api_base":"x","__proto__":{"metadata":{}}}',
  )
  assert.equal(extraParams(body, MODEL), undefined)
  const model = { ...MODEL, extra_params: ['verbosity', 'min_tokens', 'metadata', 'api_base'] }
  assert.deepEqual(extraParams(body, model), { verbosity: 'low' })
})

function refusal(check: () => unknown): object {
  try {
    check()
  } catch (error) {
    assert(error instanceof ApiError, String(error))
    const { code, message, param, status } = error
    assert.equal(status, 400)
    return { code, message, param }
  }
  return { code: 'none' }
}
