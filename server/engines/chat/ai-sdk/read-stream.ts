import { asRecord } from '../../../platform/json/record.ts'
import { EngineError } from '../../engine-error.ts'
import { calledName } from '../call-id.ts'
import type { ChatEvent, ExtraContent, FinishReason, TokenUsage } from '../contract.ts'
import { type Ending, finishReason, readFinishReason } from '../finish-reason.ts'
import { type JsonEnd, jsonEnd, readJson } from '../openai/read/json-end.ts'
import { isCount, plausibleUsage, readUsage } from '../usage.ts'
import { extraContentOf } from './extra-content.ts'
import type { LanguageModelUsage, StreamPart, WholeResult } from './model.ts'
import { warningError } from './refused.ts'

/** Turns the parts of one stream into events, part by part. Throws what `error` parts hold, and EngineError for what cannot be shown. */
export function partReader(): { read(part: StreamPart): ChatEvent[]; ended(): boolean } {
  const calls = new Map<string, { call: number; written: boolean; json: JsonEnd; extra: boolean }>()
  let produced = false
  let over = false

  function callDelta(id: string, name: string, text: string, extra_content?: ExtraContent): ChatEvent[] {
    const known = calls.get(id)
    const extra = known?.extra ? undefined : extra_content
    if (known !== undefined && text === '' && extra === undefined) return []
    const call = known ?? { call: calls.size, written: false, json: jsonEnd(), extra: false }
    calls.set(id, call)
    call.written ||= text !== ''
    readJson(call.json, text)
    call.extra ||= extra !== undefined
    const head = known === undefined ? { id, name } : {}
    return [
      {
        type: 'tool-call-delta',
        choice: 0,
        call: call.call,
        ...head,
        arguments: text,
        ...(extra !== undefined && { extra_content: extra }),
      },
    ]
  }

  function ending(part: StreamPart & { type: 'finish' }): ChatEvent[] {
    over = true
    const usage = usageOf(part.usage)
    const cut = [...calls.values()].some(({ json }) => json.depth > 0)
    const reason = endOf(part.finishReason, { called: calls.size > 0, cut, counted: usage !== null })
    const empty = [...calls.values()].filter(({ written }) => !written && reason === 'tool_calls')
    return [
      ...empty.map(({ call }): ChatEvent => ({ type: 'tool-call-delta', choice: 0, call, arguments: '{}' })),
      { type: 'finish', choice: 0, reason },
      { type: 'end', usage: plausibleUsage(usage, produced || calls.size > 0) },
    ]
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
          if (part.delta === '') return []
          produced = true
          return [{ type: part.type, choice: 0, text: part.delta }]
        case 'tool-input-start':
          return callDelta(part.id, calledName(part.toolName), '', extraContentOf(part.providerMetadata))
        case 'tool-input-delta':
          return callDelta(part.id, '', part.delta)
        case 'tool-call': {
          const text = calls.get(part.toolCallId)?.written ? '' : part.input
          return callDelta(part.toolCallId, calledName(part.toolName), text, extraContentOf(part.providerMetadata))
        }
        case 'finish':
          return ending(part)
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

/** A whole answer as the parts of a stream. Without a reason it is complete as well. */
export async function* partsOfWhole({ content, finishReason, usage }: WholeResult): AsyncGenerator<StreamPart, void> {
  for (const item of content) {
    if ('text' in item) yield { type: `${item.type}-delta`, delta: item.text }
    else yield item
  }
  const unified = finishReason.raw ? finishReason.unified : 'stop'
  yield { type: 'finish', usage, finishReason: { ...finishReason, unified } }
}

/**
 * Packages know the words of their own provider alone, and call the others `other`. They finish a stream that was cut as `other` without
 * a reason of the server. After an empty one only the usage shows that the answer is complete; without any it shows nothing, since Gemini
 * sends it with every chunk.
 */
function endOf(
  { unified, raw }: { unified: string; raw: string | undefined },
  { called, cut, counted }: { called: boolean; cut: boolean; counted: boolean },
): FinishReason {
  const known = UNIFIED[unified] ?? readFinishReason(raw) ?? (raw !== undefined && counted ? 'stop' : null)
  if (known === null) throw new EngineError('failed', 'The answer of the model server is incomplete.')
  return finishReason(known, { called, cut, word: raw })
}

const UNIFIED: Readonly<Record<string, Ending>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  error: 'failed',
  interrupted: 'failed',
}

/**
 * Packages leave out the total of the server. What Gemini's has beyond the parts is reasoning that it does not list, or an output that it
 * does not list at all.
 */
function usageOf({ inputTokens, outputTokens, raw }: LanguageModelUsage): TokenUsage | null {
  const { prompt_tokens, totalTokenCount } = asRecord(raw) ?? {}
  if (prompt_tokens !== undefined) return readUsage(raw)
  const input = inputTokens.total
  const listed = outputTokens.total
  if (!isCount(input) || !isCount(listed)) return null
  const rest = isCount(totalTokenCount) ? Math.max(0, totalTokenCount - input - listed) : 0
  const output = listed === 0 ? rest : listed
  const reasoning = part(outputTokens.reasoning, output)
  return {
    input,
    cached_input: part(inputTokens.cacheRead, input),
    output,
    reasoning,
    ...(listed > 0 && rest > 0 && reasoning === 0 && { unlisted: rest }),
  }
}

function part(count: unknown, whole: number): number {
  return isCount(count) ? Math.min(count, whole) : 0
}
