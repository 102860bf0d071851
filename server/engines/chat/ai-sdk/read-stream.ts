import { EngineError } from '../../engine-error.ts'
import type { ChatEvent, FinishReason, TokenUsage } from '../contract.ts'
import type { StreamPart, Usage } from './model.ts'
import { warningError } from './refused.ts'

/** Turns the parts of one stream into events, part by part. Throws what `error` parts hold, and EngineError for what cannot be shown. */
export function partReader(): { read(part: StreamPart): ChatEvent[]; ended(): boolean } {
  const calls = new Map<string, { call: number; written: boolean }>()
  let over = false

  function callDelta(id: string, name: string, text: string): ChatEvent[] {
    const known = calls.get(id)
    if (known === undefined) {
      const call = calls.size
      calls.set(id, { call, written: text !== '' })
      return [{ type: 'tool-call-delta', choice: 0, call, id, name, arguments: text }]
    }
    if (text === '') return []
    known.written = true
    return [{ type: 'tool-call-delta', choice: 0, call: known.call, arguments: text }]
  }

  return {
    read(part) {
      switch (part.type) {
        case 'stream-start': {
          const error = warningError(part.warnings)
          if (error !== null) throw error
          return []
        }
        case 'text-delta':
        case 'reasoning-delta':
          return part.delta === '' ? [] : [{ type: part.type, choice: 0, text: part.delta }]
        case 'tool-input-start':
          return callDelta(part.id, part.toolName, '')
        case 'tool-input-delta':
          return callDelta(part.id, '', part.delta)
        case 'tool-call':
          return calls.get(part.toolCallId)?.written ? [] : callDelta(part.toolCallId, part.toolName, part.input)
        case 'finish':
          over = true
          return [
            { type: 'finish', choice: 0, reason: finishReason(part.finishReason, calls.size > 0) },
            { type: 'end', usage: readUsage(part.usage) },
          ]
        case 'error':
          throw part.error
        case 'file':
        case 'reasoning-file':
          throw new EngineError('failed', 'The model answered with a file, which chat cannot show.')
        default:
          return []
      }
    },
    ended: () => over,
  }
}

/** Packages finish a stream that was cut as `other` without a reason of the server. */
function finishReason({ unified, raw }: { unified: string; raw: string | undefined }, called: boolean): FinishReason {
  if (unified === 'length') return 'length'
  if (unified === 'tool-calls') return 'tool_calls'
  if (unified === 'content-filter') return 'content_filter'
  if (unified === 'error' || unified === 'interrupted' || raw === undefined)
    throw new EngineError('failed', 'The answer of the model server is incomplete.')
  return called ? 'tool_calls' : 'stop'
}

function readUsage({ inputTokens, outputTokens }: Usage): TokenUsage | null {
  const input = inputTokens.total
  const output = outputTokens.total
  if (!isCount(input) || !isCount(output)) return null
  return {
    input,
    cached_input: part(inputTokens.cacheRead, input),
    output,
    reasoning: part(outputTokens.reasoning, output),
  }
}

function part(count: unknown, whole: number): number {
  return isCount(count) ? Math.min(count, whole) : 0
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
