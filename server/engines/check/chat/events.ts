import assert from 'node:assert/strict'
import type { ChatEngine, ChatEvent, ChatRequest } from '../../chat/contract.ts'

/** A short question, as plain as can be. */
export function textRequest(model: string, more: Partial<ChatRequest> = {}): ChatRequest {
  return { model, n: 1, stream: false, messages: [{ role: 'user', content: 'Say something about the sea.' }], ...more }
}

/** Every event of one request. */
export async function allEvents(engine: ChatEngine, request: ChatRequest, signal: AbortSignal): Promise<ChatEvent[]> {
  const events: ChatEvent[] = []
  for await (const batch of await engine.generate(request, signal)) events.push(...batch)
  return events
}

/** The invariants of `ChatEvent`: see server/engines/chat/contract.ts. */
export function assertEventOrder(events: readonly ChatEvent[], choices: number): void {
  const finished = new Set<number>()
  const calls = new Map<number, Map<number, string>>()
  for (const [i, event] of events.entries()) {
    if (event.type === 'end') {
      assert.equal(i, events.length - 1, 'the end comes last')
      continue
    }
    assert.ok(event.choice >= 0 && event.choice < choices, `choice ${event.choice} of ${choices}`)
    if (event.type === 'choice-usage' || event.type === 'finishing') continue
    assert.ok(!finished.has(event.choice), `choice ${event.choice} goes on after its finish`)
    if (event.type === 'finish') {
      finished.add(event.choice)
      const texts = [...(calls.get(event.choice)?.values() ?? [])]
      assert.ok(event.reason !== 'tool_calls' || !texts.includes(''), 'a call has no arguments')
    }
    if (event.type === 'tool-call-delta') assertCall(event, calls)
  }
  assert.equal(events.at(-1)?.type, 'end', 'there is no end')
  assert.equal(finished.size, choices, `${finished.size} of ${choices} choices finish`)
}

/** Text, reasoning, a refusal or a call. */
export function isContent(event: ChatEvent): event is ChatEvent & { choice: number } {
  return !NO_CONTENT.has(event.type)
}

const NO_CONTENT: ReadonlySet<ChatEvent['type']> = new Set(['finishing', 'finish', 'choice-usage', 'end'])

function assertCall(event: ChatEvent & { type: 'tool-call-delta' }, calls: Map<number, Map<number, string>>): void {
  const known = calls.get(event.choice) ?? new Map<number, string>()
  calls.set(event.choice, known)
  const text = known.get(event.call)
  known.set(event.call, (text ?? '') + event.arguments)
  if (text !== undefined) {
    assert.ok(event.id === undefined && event.name === undefined, 'id and name of a call come more than once')
    return
  }
  assert.equal(event.call, known.size - 1, 'the calls do not count from 0')
  assert.ok(event.id && event.name, 'the first delta of a call lacks its id or name')
}
