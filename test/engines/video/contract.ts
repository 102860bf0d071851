import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { NotApplicable } from '../../../server/engines/check/check.ts'
import { VIDEO_CHECKS } from '../../../server/engines/check/video/checks.ts'
import { requestFor } from '../../../server/engines/check/video/request.ts'
import type { JsonValue, VideoEngine } from '../../../server/engines/video/contract.ts'

export type EngineUnderTest = { engine: VideoEngine; model: string; close(): Promise<void> }

/**
 * What every video engine promises, run on one adapter. `open` gives a fresh engine that renders the shortest clip within a test's
 * time; two opened one after the other stand for the service before and after a restart.
 */
export function videoEngineContract(name: string, open: () => Promise<EngineUnderTest>): void {
  for (const check of VIDEO_CHECKS) {
    test(`${name}: ${check.title}`, () =>
      using(open, async ({ engine, model }) => {
        const subject = { engine, model, poll_seconds: POLL_SECONDS, serves_files: true }
        await check
          .run(subject, live())
          .catch((error: unknown) => assert.ok(error instanceof NotApplicable, error as Error))
      }))
  }

  test(`${name}: a ticket outlives the process that got it`, async () => {
    let stored: JsonValue = null
    await using(open, async ({ engine, model }) => {
      stored = JSON.parse(JSON.stringify(await engine.start(requestFor(engine, model), live()))) as JsonValue
    })
    await using(open, async ({ engine }) => {
      for (;;) {
        const { state } = await engine.poll(stored, live())
        if (state !== 'running') return assert.ok(state === 'succeeded' || state === 'lost', `ended as ${state}`)
        await wait(POLL_SECONDS * 1000)
      }
    })
  })
}

const POLL_SECONDS = 0.1

async function using(
  open: () => Promise<EngineUnderTest>,
  body: (subject: EngineUnderTest) => Promise<void>,
): Promise<void> {
  const subject = await open()
  try {
    await body(subject)
  } finally {
    await subject.close()
  }
}

function live(): AbortSignal {
  return new AbortController().signal
}
