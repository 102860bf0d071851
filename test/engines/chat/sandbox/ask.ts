import type {
  ChatEngine,
  ChatEvent,
  ChatMessage,
  ChatRequest,
  TokenUsage,
} from '../../../../server/engines/chat/contract.ts'

/** Everything an engine emitted for one answer. */
export type Answer = { events: ChatEvent[]; batches: number; usage: TokenUsage }

/** Asks an engine for one answer, streaming unless the options say otherwise. A text stands for one user message. */
export async function ask(
  engine: ChatEngine,
  input: string | ChatMessage[],
  options: Partial<ChatRequest> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Answer> {
  const events: ChatEvent[] = []
  let batches = 0
  for await (const batch of await engine.generate(requestOf(input, options), signal)) {
    batches++
    events.push(...batch)
  }
  const end = events.at(-1)
  if (end?.type !== 'end' || end.usage === null) throw new Error('The answer did not end with its usage.')
  return { events, batches, usage: end.usage }
}

export function requestOf(input: string | ChatMessage[], options: Partial<ChatRequest> = {}): ChatRequest {
  const messages: ChatMessage[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  return { model: 'sandbox-1', messages, n: 1, stream: true, ...options }
}

export function textOf({ events }: Answer, choice = 0): string {
  return events.map((event) => (event.type === 'text-delta' && event.choice === choice ? event.text : '')).join('')
}

/** Why a choice ended; undefined when it did not end exactly once. */
export function reasonOf({ events }: Answer, choice = 0): string | undefined {
  const reasons = events.flatMap((event) => (event.type === 'finish' && event.choice === choice ? [event.reason] : []))
  return reasons.length === 1 ? reasons[0] : undefined
}
