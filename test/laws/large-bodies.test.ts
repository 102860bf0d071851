import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import { checkChatBody as checkChat } from '../../server/chat/check.ts'
import { resolveMessages } from '../../server/chat/messages.ts'
import { type BodyMessage, ChatBody, LENGTHS_MAX } from '../../server/chat/schema.ts'
import type { Context } from '../../server/context.ts'
import { sandboxChat } from '../../server/engines/chat/sandbox/adapter.ts'
import { readPrompt } from '../../server/engines/chat/sandbox/prompt.ts'
import { openByteBudget } from '../../server/platform/http/body/byte-budget.ts'
import { assembleRequest } from '../../server/responses/context/assemble.ts'
import { openContextLengths } from '../../server/responses/context/lengths.ts'
import { checkResponseBody } from '../../server/responses/request/check/body.ts'
import { engineSettings } from '../../server/responses/request/engine-request.ts'
import { normalizeInput } from '../../server/responses/request/normalize-input.ts'
import type { ContextItem } from '../../server/responses/schema/items.ts'
import { CreateResponse } from '../../server/responses/schema/response.ts'

type Node = TSchema & {
  type?: string
  const?: unknown
  enum?: unknown[]
  items?: Node
  maxItems?: number
  anyOf?: Node[]
  properties?: Record<string, Node>
  required?: string[]
  pattern?: string
}

/** The most elements of one array that are tried. */
const MOST = 20_000

/** A small value of a schema. `grow` is the path of one array that gets `size` elements; every array on the way to it has one. */
function sampleOf(schema: Node, path: string, grow: { path: string; size: number }, index = 0): unknown {
  if (schema.anyOf) {
    const towards = schema.anyOf.findIndex((_, i) => grow.path.startsWith(`${path}|${i}`))
    return sampleOf(schema.anyOf[Math.max(0, towards)]!, `${path}|${Math.max(0, towards)}`, grow, index)
  }
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.type === 'array') {
    const length = grow.path === path ? grow.size : 1
    return Array.from({ length }, (_, i) => sampleOf(schema.items ?? {}, `${path}[]`, grow, i))
  }
  if (schema.type === 'integer' || schema.type === 'number') return 1
  if (schema.type === 'boolean') return false
  if (schema.type === 'object') {
    const names = Object.keys(schema.properties ?? {}).filter(
      (name) => schema.required?.includes(name) || `${grow.path}.`.startsWith(`${path}.${name}`),
    )
    return Object.fromEntries(
      names.map((name) => [name, sampleOf(schema.properties![name]!, `${path}.${name}`, grow, index)]),
    )
  }
  return `a${index}`
}

/** Paths of all arrays of a schema, branches of unions with them. */
function arraysIn(schema: Node, path: string): Array<{ path: string; max: number }> {
  return [
    ...(schema.anyOf ?? []).flatMap((each, i) => arraysIn(each, `${path}|${i}`)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) => arraysIn(each, `${path}.${name}`)),
    ...(schema.items ? arraysIn(schema.items, `${path}[]`) : []),
    ...(schema.type === 'array' ? [{ path, max: Math.min(MOST, schema.maxItems ?? MOST) }] : []),
  ]
}

/** CPU milliseconds of a piece of work, the least of three. */
async function cost(work: () => unknown): Promise<number> {
  let least = Infinity
  for (let run = 0; run < 3; run++) {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}

/** Eight times the elements cost eight times as much: quadratic work would be sixty-four. Small costs say nothing. */
async function assertLinear(name: string, size: number, work: (size: number) => unknown): Promise<void> {
  const small = await cost(() => work(Math.ceil(size / 8)))
  const large = await cost(() => work(size))
  assert.ok(
    large < 100 || large / Math.max(small, 1) < 24,
    `${name}: ${small.toFixed(1)} ms, then ${large.toFixed(1)} ms`,
  )
}

const attempt = async (check: (body: unknown) => unknown, body: unknown) => {
  try {
    await check(body)
  } catch {
    // Refused or not, the work is what is looked at.
  }
}

test('checking a body costs in proportion to each of its arrays, whichever it is', async () => {
  for (const [name, schema, check] of [
    ['chat', ChatBody, checkChat],
    ['responses', CreateResponse, (body: unknown) => checkResponseBody(body, { left: NEVER })],
  ] as const) {
    const arrays = arraysIn(schema as Node, '')
    assert.ok(arrays.length > 8)
    for (const { path, max } of arrays) {
      await assertLinear(`${name}${path}`, max, (size) => {
        const body = sampleOf(schema as Node, '', { path, size })
        return attempt(check as (body: unknown) => unknown, body)
      })
    }
  }
})

test('an error in the last of 20,000 messages is found at about the cost of checking them', async () => {
  const messages = Array.from({ length: LENGTHS_MAX.items }, () => ({
    role: 'user',
    content: [{ type: 'text', text: 'a' }],
  }))
  const wrong = [...messages.slice(1), { role: 'nobody' }]
  const check = (body: unknown) => () => attempt(checkChat, body)
  const [right, refused] = [
    await cost(check({ model: 'm', messages })),
    await cost(check({ model: 'm', messages: wrong })),
  ]
  assert.ok(refused < right * 50 + 40, `${right.toFixed(1)} ms, and ${refused.toFixed(1)} ms to refuse`)
})

const SECRETS: Context['secrets'] = ['s']
const NOTHING = {} as Context
const NEVER = new AbortController().signal
const lease = openByteBudget().open('o')
const engine = sandboxChat({ kind: 'sandbox' })
// biome-ignore lint/suspicious/noExplicitAny: of a model only what assembling looks at.
const model = { id: 'm', context_length: null, capabilities: [], reasoning_efforts: [], extra_params: [] } as any

test('messages cost in proportion to their number: answers of tools, their results in words', async () => {
  const call = (i: number) => ({ id: `c${i}`, type: 'function' as const, function: { name: 'f', arguments: '{}' } })
  const answers = (size: number): BodyMessage[] => [
    { role: 'assistant', tool_calls: Array.from({ length: Math.min(size, LENGTHS_MAX.calls) }, (_, i) => call(i)) },
    ...Array.from({ length: size }, (_, i) => ({
      role: 'tool' as const,
      tool_call_id: `c${i % Math.min(size, LENGTHS_MAX.calls)}`,
      content: 'done',
    })),
  ]
  await assertLinear('answers of tools', LENGTHS_MAX.items, async (size) => {
    const work = { org_id: 'o', model, engine, lease, messages: answers(size) }
    await resolveMessages(NOTHING, work, NEVER)
  })
  await assertLinear('results of tools, put into words', LENGTHS_MAX.items, async (size) => {
    const work = { org_id: 'o', model, engine, lease, messages: answers(size) }
    await readPrompt({ model: 'm', messages: await resolveMessages(NOTHING, work, NEVER), n: 1, stream: false })
  })
})

/** Input of every kind that can be repeated, as it is after its check. */
const INPUTS: Record<string, (size: number) => unknown[]> = {
  'messages of the user': (size) => Array.from({ length: size }, () => ({ role: 'user', content: 'a' })),
  'pairs of call and output': (size) =>
    Array.from({ length: size / 2 }, (_, i) => [callItem(`c${i}`), outputItem(`c${i}`)]).flat(),
  'calls, then outputs': (size) => [
    ...Array.from({ length: size / 2 }, (_, i) => callItem(`c${i}`)),
    ...Array.from({ length: size / 2 }, (_, i) => outputItem(`c${i}`)),
  ],
  'calls of one id, then outputs': (size) => [
    ...Array.from({ length: size / 2 }, () => callItem('c')),
    ...Array.from({ length: size / 2 }, () => outputItem('c')),
  ],
  reasoning: (size) => Array.from({ length: size }, () => ({ type: 'reasoning', summary: [] })),
}
const callItem = (call_id: string) => ({ type: 'function_call', call_id, name: 'f', arguments: '{}' })
const outputItem = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'done' })

test('input items cost in proportion to their number, each kind by itself and in pairs', async () => {
  for (const [name, make] of Object.entries(INPUTS)) {
    await assertLinear(name, LENGTHS_MAX.items, async (size) => {
      const input = [...make(size - 8), { role: 'user', content: 'Go on' }]
      const body = await checkResponseBody({ model: 'm', input }, { left: NEVER })
      const context = (await normalizeInput(body.input, NEVER)) as ContextItem[]
      const served = { engine, model: 'm', name: 'sandbox' }
      await assembleRequest(
        { secret: 's', secrets: SECRETS } as Context,
        {
          org_id: 'o',
          model,
          served,
          lease,
          body,
          context,
          skipped: [],
          settings: engineSettings(body, model),
          lengths: openContextLengths(),
        },
        NEVER,
      )
    })
  }
})

test('150,000 pairs of call and output, as a chain may hold, become messages', async () => {
  const body = await checkResponseBody({ model: 'm', input: 'Go on' }, { left: NEVER })
  const pairs = INPUTS['calls, then outputs']!(300_000).map((item, i) => ({
    path: 'previous_response_id',
    item: { id: `i${i}`, status: 'completed', ...(item as object) },
  }))
  const context = [...pairs, ...(await normalizeInput(body.input, NEVER))] as ContextItem[]
  const served = { engine, model: 'm', name: 'sandbox' }
  const wanted = {
    org_id: 'o',
    model,
    served,
    lease,
    body,
    context,
    skipped: [],
    settings: engineSettings(body, model),
    lengths: openContextLengths(),
  }
  const { exchange: turn } = await assembleRequest({ secret: 's', secrets: SECRETS } as Context, wanted, NEVER)
  assert.equal(turn.request.messages.length, 150_002)
})

test('an echo is tokenized once for all choices, up to what one answer holds', async () => {
  const content = `sandbox:echo ${'word '.repeat(100_000)}`
  const answer = (n: number) => async () => {
    const request = { model: 'm', messages: [{ role: 'user' as const, content }], n, stream: false, max_tokens: 8 }
    for await (const _ of await engine.generate(request, NEVER));
  }
  await answer(1)()
  const [one, many] = [await cost(answer(1)), await cost(answer(16))]
  assert.ok(many < one * 4 + 40, `${one.toFixed(0)} ms for one choice, ${many.toFixed(0)} ms for sixteen`)
})
