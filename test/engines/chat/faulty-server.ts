import assert from 'node:assert/strict'
import { type OpenaiChatOptions, openaiChat } from '../../../server/engines/chat/openai/adapter.ts'
import { EngineError } from '../../../server/engines/engine-error.ts'
import {
  type ChatUpstream,
  completion,
  startChatUpstream,
  type UpstreamReply,
} from '../../support/upstream/chat-upstream.ts'
import { textRequest } from './contract.ts'

/** Words of the server that no error may repeat. */
export const LEAK_MARKER = 'leak-marker host upstream.internal model secret-model'
export const plain = textRequest('m')
export const streamed = textRequest('m', { stream: true })
/** The beginning of a completion. */
export const cut = JSON.stringify(completion({ content: 'Hello' })).slice(0, 60)
export const error = (code: unknown, message = LEAK_MARKER, type = 'x') => ({
  error: { message, type, param: null, code },
})
export const status = (code: number, body: unknown = error(code), headers = {}): UpstreamReply => ({
  kind: 'json',
  status: code,
  body,
  headers,
})
export const frames = (list: Array<object | string>, more: object = {}): UpstreamReply => ({
  kind: 'stream',
  frames: list,
  ...more,
})

type FaultyServer = { upstream: ChatUpstream; engine: ReturnType<typeof openaiChat> }

/** Runs `body` on an engine and the server behind it, which replies as the test says. */
export async function withEngine(
  options: Partial<OpenaiChatOptions>,
  body: (server: FaultyServer) => Promise<void>,
  log?: { error(event: string, fields?: object): void; warn(): void },
): Promise<void> {
  const upstream = await startChatUpstream()
  const engine = openaiChat({ kind: 'openai', base_url: upstream.url, ...options }, log ? { log } : {})
  try {
    await body({ upstream, engine })
  } finally {
    await engine.close?.()
    await upstream.close()
  }
}

/** The fault a call ends with. Its message is ours: nothing of the server, its address or its words. */
export async function faultOf(outcome: Promise<unknown>): Promise<EngineError> {
  const failure = await outcome.then(
    () => null,
    (reason: unknown) => reason,
  )
  assert.ok(failure instanceof EngineError, `ended with ${failure}`)
  assert.doesNotMatch(
    `${failure.message} ${JSON.stringify(failure)}`,
    /leak-marker|127\.0\.0\.1|invalid|secret|maximum/,
  )
  return failure
}
