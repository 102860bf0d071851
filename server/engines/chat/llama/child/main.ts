import { EngineError } from '../../../engine-error.ts'
import type { ChildFailure, ChoiceRequest, FromChild, ToChild } from '../protocol.ts'
import { generateChoice, promptTokens } from './generate.ts'
import { type Loaded, loadModel } from './load.ts'

/**
 * The process that holds the model. It lives outside of the service because llama.cpp ends its process when it finds a file or a state
 * that it cannot work with, and because templates, grammars and tokens are computed without a pause.
 */
const runs = new Map<number, AbortController>()
let loaded: Loaded | null = null

function send(message: FromChild): void {
  process.send?.(message, () => undefined)
}

async function load(message: Extract<ToChild, { type: 'load' }>): Promise<void> {
  try {
    loaded = await loadModel(message.order)
    send({ type: 'loaded', context_tokens: loaded.context_tokens })
  } catch (error) {
    send({ type: 'load_failed', message: (error as Error).message })
  }
}

async function generate(id: number, turn: ChoiceRequest): Promise<void> {
  const leaving = new AbortController()
  runs.set(id, leaving)
  try {
    await generateChoice(loaded!, turn, {
      signal: leaving.signal,
      accept: () => send({ type: 'accepted', id }),
      emit: (events) => send({ type: 'events', id, events }),
    })
    send({ type: 'done', id })
  } catch (error) {
    send({ type: 'failed', id, failure: failureOf(error) })
  } finally {
    runs.delete(id)
  }
}

function count(id: number, turn: ChoiceRequest): void {
  try {
    send({ type: 'counted', id, tokens: promptTokens(loaded!, turn) })
  } catch (error) {
    send({ type: 'failed', id, failure: failureOf(error) })
  }
}

/** Of an error that is not ours only the name is kept: its message may quote the request. */
function failureOf(error: unknown): ChildFailure {
  if (!(error instanceof EngineError))
    return { kind: 'failed', message: `The model failed: ${error instanceof Error ? error.name : typeof error}.` }
  const { kind, message, public_message, param, tokens } = error
  return {
    kind,
    message,
    ...(public_message !== undefined && { public_message }),
    ...(param !== undefined && { param }),
    ...(tokens && { tokens }),
  }
}

process.on('message', (message: ToChild) => {
  if (message.type === 'load') void load(message)
  else if (message.type === 'generate') void generate(message.id, message.turn)
  else if (message.type === 'count') count(message.id, message.turn)
  else runs.get(message.id)?.abort()
})
// Without its service nobody can ask it anything.
process.on('disconnect', () => process.exit())
