import type { ChatEvent, ExtraContent, TokenLogprob } from '../engines/chat/contract.ts'
import { isRecord } from '../platform/json/record.ts'
import { hasUnstorableText, storableText } from '../platform/text.ts'

/**
 * Makes what a model writes storable, and readable for every client: U+FFFD takes the place of U+0000 and of half a surrogate pair. A half at
 * the end of a delta waits for the next one, since models cut emoji in two. A batch without either is returned as it is.
 */
export function storableEvents(): (batch: readonly ChatEvent[]) => readonly ChatEvent[] {
  const halves = new Map<string, Written>()

  /** Ends what waits in this choice: all of it, or what no later delta of `next` will complete. */
  const flush = (choice: number, next?: Written): Written[] => {
    const left = [...halves].filter(([, half]) => half.choice === choice && !(next && mayComplete(half, next)))
    return left.map(([key, half]) => {
      halves.delete(key)
      return withText(half, '\ufffd')
    })
  }

  const repaired = (event: Written): Written[] => {
    const ended = flush(event.choice, event)
    const key = keyOf(event)
    const text = (halves.has(key) ? textOf(halves.get(key)!) : '') + textOf(event)
    halves.delete(key)
    const half = isHighHalf(text.charCodeAt(text.length - 1)) ? text.slice(-1) : ''
    if (half !== '') halves.set(key, withText(bare(event), half))
    return [...ended, withText(cleaned(event), storableText(text.slice(0, text.length - half.length)))]
  }

  return (batch) => {
    if (halves.size === 0 && batch.every(isStorable)) return batch
    return batch.flatMap((event): ChatEvent[] => {
      if (event.type === 'end' || event.type === 'choice-usage' || event.type === 'finishing') return [event]
      return event.type === 'finish' ? [...flush(event.choice), event] : repaired(event)
    })
  }
}

/** The events that carry text. */
type Written = Exclude<ChatEvent, { type: 'finish' | 'finishing' | 'choice-usage' | 'end' }>

function isStorable(event: ChatEvent): boolean {
  switch (event.type) {
    case 'text-delta':
      return !hasUnstorableText(event.text) && (event.logprobs === undefined || event.logprobs.every(isStorableToken))
    case 'reasoning-delta':
    case 'refusal-delta':
      return !hasUnstorableText(event.text)
    case 'tool-call-delta':
      if ([event.arguments, event.id ?? '', event.name ?? ''].some(hasUnstorableText)) return false
      return event.extra_content === undefined || !UNSTORABLE_ESCAPE.test(JSON.stringify(event.extra_content))
    default:
      return true
  }
}

/** What JSON has in the place of U+0000 and of half a surrogate pair. Text may have it, too: then it is repaired without a change. */
const UNSTORABLE_ESCAPE = /\\u(?:0000|d[89a-f])/

function isStorableToken({ token, top_logprobs }: TokenLogprob): boolean {
  return !hasUnstorableText(token) && !top_logprobs.some((other) => hasUnstorableText(other.token))
}

/** Calls may arrive interleaved; of all else a choice writes one thing at a time. */
function mayComplete(half: Written, next: Written): boolean {
  return half.type === next.type
}

function keyOf(event: Written): string {
  return `${event.choice} ${event.type} ${event.type === 'tool-call-delta' ? event.call : ''}`
}

function textOf(event: Written): string {
  return event.type === 'tool-call-delta' ? event.arguments : event.text
}

function withText<E extends Written>(event: E, text: string): E {
  return event.type === 'tool-call-delta' ? { ...event, arguments: text } : { ...event, text }
}

/** Without what only one delta may have. */
function bare(event: Written): Written {
  if (event.type === 'tool-call-delta') {
    const { type, choice, call } = event
    return { type, choice, call, arguments: '' }
  }
  const { type, choice } = event
  return { type, choice, text: '' }
}

function cleaned(event: Written): Written {
  if (event.type === 'tool-call-delta') {
    const { id, name, extra_content } = event
    return {
      ...event,
      ...(extra_content && { extra_content: storableJson(extra_content) as ExtraContent }),
      ...(id !== undefined && { id: storableText(id) }),
      ...(name !== undefined && { name: storableText(name) }),
    }
  }
  if (event.type !== 'text-delta' || event.logprobs === undefined) return event
  const token = <T extends { token: string }>(each: T): T => ({ ...each, token: storableText(each.token) })
  const logprobs = event.logprobs.map((each) => ({ ...token(each), top_logprobs: each.top_logprobs.map(token) }))
  return { ...event, logprobs }
}

function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (Array.isArray(value)) return value.map(storableJson)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [storableText(name), storableJson(member)]))
}

function isHighHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
