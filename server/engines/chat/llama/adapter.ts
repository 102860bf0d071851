import { availableParallelism } from 'node:os'
import Type from 'typebox'
import type { EngineEnv } from '../../engine-entry.ts'
import { EngineError } from '../../engine-error.ts'
import type { ChatEngine } from '../contract.ts'
import { fanOut } from '../fan-out.ts'
import { SystemMessages } from '../system-messages.ts'
import type { ChildExchange } from './call.ts'
import { findModelFile, findPackage } from './model-file.ts'
import { startModelProcess } from './model-process.ts'
import type { ChoiceRequest } from './protocol.ts'
import { openQueue } from './queue.ts'
import { readRequest } from './read-request.ts'

/**
 * `context_tokens`: of one conversation, input and output together. `max_parallel`: answers at once, each with a context of its own.
 * `max_waiting`: requests that may wait for one of them, and counts of tokens that may wait for each other. `threads`: one fewer than there
 * are processors, since llama.cpp's threads wait for each other at every layer: one that has to share its processor holds up all.
 */
export const LlamaOptions = Type.Object(
  {
    kind: Type.Literal('llama'),
    model_file: Type.String({ minLength: 1 }),
    context_tokens: Type.Optional(Type.Integer({ minimum: 256, maximum: 10_000_000 })),
    max_parallel: Type.Optional(Type.Integer({ minimum: 1, maximum: 64 })),
    max_waiting: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
    gpu: Type.Optional(Type.Union([Type.Literal('auto'), Type.Literal(false)])),
    threads: Type.Optional(Type.Integer({ minimum: 1, maximum: 1024 })),
    system_messages: SystemMessages,
  },
  { additionalProperties: false },
)
export type LlamaOptions = Type.Static<typeof LlamaOptions>

/** What a model of this engine may be listed with: it sees no media, and reports no probabilities. */
export const LLAMA_CARRIES = ['tools', 'reasoning', 'structured_outputs'] as const

export type LlamaEnv = Pick<EngineEnv, 'config_dir' | 'log' | 'upstream'>

/**
 * A language model from a GGUF file, by `node-llama-cpp` in a process of its own, loaded in the background from the start on. Each answer
 * has a sequence of its own, and no request uses what was computed for another: its timing would reveal what others asked.
 * Throws StartError when the package or the file is missing. Source: https://node-llama-cpp.withcat.ai
 */
export function llamaChat(options: LlamaOptions, env: LlamaEnv = {}, package_url = findPackage()): ChatEngine {
  const { max_parallel = 2, max_waiting = 64, threads = Math.max(1, availableParallelism() - 1) } = options
  const total_ms = (env.upstream?.total_seconds ?? 900) * 1000
  const model_file = findModelFile(options.model_file, env.config_dir)
  const model = startModelProcess(
    {
      package_url,
      model_file,
      threads,
      context_tokens: options.context_tokens ?? null,
      sequences: max_parallel,
      gpu: options.gpu ?? 'auto',
    },
    env.log,
  )
  const queues = { generate: openQueue(max_parallel, max_waiting), count: openQueue(1, max_waiting) }

  /** Resolves once the model has begun an answer, or counted. */
  async function run(type: 'generate' | 'count', turn: ChoiceRequest, caller: AbortSignal): Promise<ChildExchange> {
    const { signal, clear } = timeLimit(caller, total_ms)
    let leave = () => {}
    let call: ChildExchange | null = null
    try {
      leave = await queues[type].enter(signal)
      await unlessAborted(model.ready(), signal)
      call = model.call(type, turn, signal)
      void call.ended.then(leave).then(clear)
      await call.accepted
      return call
    } catch (error) {
      // A call that has begun leaves once the model is done with it.
      if (call === null) leave()
      clear()
      throw error
    }
  }

  return fanOut({
    fetches_urls: 'unread',
    takes_reasoning: true,
    inputs: 'url',
    async generate(request, signal) {
      signal.throwIfAborted()
      const turn = await readRequest(request, options.system_messages, signal)
      const { batches } = await run('generate', turn, signal)
      return batches
    },
    async countTokens(request, signal) {
      const turn = await readRequest({ ...request, n: 1 }, options.system_messages, signal)
      const { accepted } = await run('count', turn, signal)
      return accepted
    },
    close: () => model.close(),
  })
}

type TimeLimit = { signal: AbortSignal; clear(): void }

/** The signal, aborted at the time limit too. */
function timeLimit(signal: AbortSignal, total_ms: number): TimeLimit {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new EngineError('timeout', 'The model was too slow.')), total_ms)
  return { signal: AbortSignal.any([signal, late.signal]), clear: () => clearTimeout(timer) }
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
