import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import Type from 'typebox'
import { openShares } from '../../../platform/fair-queue.ts'
import { turnOwner, turnTaker } from '../../../platform/turns.ts'
import { EngineError } from '../../engine-error.ts'
import type { ChatEngine, ChatEvent, TokenUsage } from '../contract.ts'
import { contentOf, type SharedContent, type Step, stepsOf } from './answer.ts'
import { countInput } from './input-tokens.ts'
import { readPrompt } from './prompt.ts'

/** `model` only changes the wording of answers. `delay_ms_per_token` paces answers for demonstrations. */
export const SandboxOptions = Type.Object(
  {
    kind: Type.Literal('sandbox'),
    model: Type.Optional(Type.String({ minLength: 1 })),
    delay_ms_per_token: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, default: 0 })),
  },
  { additionalProperties: false },
)
export type SandboxOptions = Type.Static<typeof SandboxOptions>

/**
 * A test model for building clients without spending. It is not intelligent but exact: the same content and `seed` give the same
 * answer token by token, whatever the limits and whether it streams. It obeys `max_tokens`, `stop`, `n`, `logprobs`, biases of −100
 * and 100, `response_format` and `tool_choice`, reasons when given a `reasoning_effort`, answers Japanese in Japanese, calls tools in
 * the user's turn and puts their results into words. A schema for which it finds no value is refused.
 *
 * Words in the last user message make it misbehave: `sandbox:refuse` (a refusal), `sandbox:filter` (cut by a content filter),
 * `sandbox:error` (breaks off after some tokens), `sandbox:overloaded` and `sandbox:too_long` (refuses the request),
 * `sandbox:empty` (no text), `sandbox:long` (about 2,000 tokens), `sandbox:echo <text>` (exactly that text).
 */
export function sandboxChat({ delay_ms_per_token = 0 }: SandboxOptions): ChatEngine {
  return {
    fetches_urls: 'unread',
    inputs: 'url',

    async generate(request, signal) {
      signal.throwIfAborted()
      const prompt = await readPrompt(request, signal)
      if (prompt.directive?.name === 'overloaded')
        throw new EngineError('overloaded', 'The prompt asked for an overload.', { retry_after_seconds: 1 })
      if (prompt.directive?.name === 'too_long') {
        const asked = await countInput(request, signal, TOO_LONG_TOKENS)
        const tokens = { limit: Math.max(1, asked - 1), asked }
        throw new EngineError('context_length', 'The prompt asked to be too long.', { tokens })
      }
      const content = await contentInTurn(turnOwner(), () => contentOf(request, prompt, signal), signal)
      const input = await countInput(request, signal)
      return batches(content, { input, signal, delay_ms: delay_ms_per_token })
    },

    countTokens: countInput,
  }
}

/** Values for schemas are made for few requests at a time: while they are, each has many times the memory of its schema. */
const contentInTurn = openShares({ each: 2, all: 4 })

/** How far the input of a refused request is counted. */
const TOO_LONG_TOKENS = 10_000

/** Tokens between two turns of the loop. */
const BATCH_TOKENS = 16

type Delivery = { input: number; signal: AbortSignal; delay_ms: number }

/** Every choice a step in turn. A stream comes in small batches, a plain answer in one. */
async function* batches(
  content: SharedContent,
  { input, signal, delay_ms }: Delivery,
): AsyncGenerator<readonly ChatEvent[]> {
  const usage: TokenUsage = { input, cached_input: 0, output: 0, reasoning: 0 }
  const { n, stream } = content.request
  const steps = delay_ms > 0 ? n : BATCH_TOKENS
  let batch: ChatEvent[] = []
  let pending = 0
  const turn = turnTaker(1)
  try {
    for (const { event, tokens } of interleaved(content)) {
      batch.push(event)
      usage.output += tokens
      if (event.type === 'reasoning-delta') usage.reasoning += tokens
      const other = turn()
      if (other) await other
      if (++pending % steps !== 0) continue
      if (stream) {
        yield batch
        batch = []
      }
      await (delay_ms > 0 ? wait(delay_ms, undefined, { signal }) : nextTurn())
      signal.throwIfAborted()
    }
  } catch (error) {
    if (batch.length > 0 && error instanceof EngineError) yield batch
    throw error
  }
  yield [...batch, { type: 'end', usage }]
}

function* interleaved(content: SharedContent): Generator<Step> {
  let open = Array.from({ length: content.request.n }, (_, choice) => stepsOf(content, choice))
  while (open.length > 0) {
    const still: typeof open = []
    for (const steps of open) {
      const { done, value } = steps.next()
      if (done === true) continue
      still.push(steps)
      yield value
    }
    open = still
  }
}
