import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEngine, ChatEvent, ChatRequest } from '../../../server/engines/chat/contract.ts'
import { CHAT_CHECKS } from '../../../server/engines/check/chat/checks.ts'
import * as events from '../../../server/engines/check/chat/events.ts'
import { NotApplicable } from '../../../server/engines/check/check.ts'

/** `asks` are requests the engine can answer beside the plain ones, such as one with tools; `capabilities` is what else it can. */
export type ChatEngineUnderTest = {
  engine: ChatEngine
  model: string
  asks?: ChatRequest[]
  capabilities?: readonly string[]
  close?(): Promise<void>
}

/** What every chat engine promises, run on one adapter. `open` gives an engine that answers any request with some text. */
export function chatEngineContract(name: string, open: () => Promise<ChatEngineUnderTest>): void {
  for (const check of CHAT_CHECKS) {
    test(`${name}: ${check.title}`, async () => {
      const { engine, model, asks = [], capabilities = [], close } = await open()
      const subject = {
        engine,
        model,
        asks,
        capabilities: new Set(capabilities),
        choices: true,
        effort: null,
        at_once: 20,
      }
      try {
        await check
          .run(subject, live())
          .catch((error: unknown) => assert.ok(error instanceof NotApplicable, error as Error))
      } finally {
        await engine.close?.()
        await close?.()
      }
    })
  }
}

export const { assertEventOrder, textRequest } = events

/** Every event of one request. */
export function allEvents(engine: ChatEngine, request: ChatRequest, signal = live()): Promise<ChatEvent[]> {
  return events.allEvents(engine, request, signal)
}

export function live(): AbortSignal {
  return new AbortController().signal
}
