import { ApiError, overloaded } from '../../platform/errors.ts'
import type { Lease } from '../../platform/http/body/byte-budget.ts'
import type { OnMessage } from '../../platform/http/body/messages.ts'
import { JSON_BYTES_MAX } from '../../platform/http/body/parsers.ts'
import type { WebSocketConnection } from '../../platform/http/websocket.ts'
import { errorEvent, readCancelMessage, SMALL_MESSAGE_BYTES, streamIdOf } from './messages.ts'
import { type ActiveRun, type ReceivedMessage, runOnSocket, type SocketRuns } from './run-on-socket.ts'

/** Longest that a connection runs responses. Source: contract 12. */
export const LIFETIME_SECONDS = 3600

/** Messages that may wait behind the active one; together they may be as large as one message. They are parsed when it is their turn. */
const RUNS_WAITING_MAX = 16
/** Messages that may wait for an answer, including those refused as too many. A client that sends more is not reading its answers. */
const MESSAGES_WAITING_MAX = 1000
/** Messages in a row that may begin no response and cancel none: mistakes, and cancels that come too late. Source: contract 12. */
const MESSAGES_IDLE_MAX = 100

/** `refused`: the queue was full. */
type SocketMessage = ReceivedMessage & { refused: ApiError | null }

/** Why a connection starts no more runs: waiting ones are answered with `error`, then it is closed. `notify_idle`: an idle one gets it too. */
type Closing = { error: ApiError; code: number; reason: string; notify_idle?: boolean }

/** Answers the messages of one connection in the order they came, one run at a time, until it has to end. `response.cancel` acts at once. */
export function serveRuns(runs: SocketRuns, lifetime_seconds: number): OnMessage {
  const { connection } = runs
  const waiting = openQueue()
  let closing: Closing | null = null
  let working = false
  let number = 0
  let active: ActiveRun | null = null
  let idle = 0

  const cutOff = (reason: string): void => {
    waiting.clear()
    connection.close(1008, reason)
  }
  const countIdle = (): void => {
    idle += 1
    if (idle > MESSAGES_IDLE_MAX) cutOff('too many messages without a response')
  }
  const answer = async (message: SocketMessage): Promise<void> => {
    const error = closing ? closing.error : message.refused
    if (error) return connection.send(errorEvent(error, await streamIdOf(message.text)))
    number += 1
    active = { cancel: new AbortController(), response_id: null }
    const authError = await runOnSocket(runs, `${connection.request_id}-${number}`, message, active)
    if (active.response_id === null) countIdle()
    else idle = 0
    active = null
    if (authError) closing ??= { error: authError, code: 1008, reason: 'credential no longer valid' }
  }
  const close = ({ error, code, reason, notify_idle }: Closing, notified: boolean): void => {
    if (notify_idle && !notified) connection.send(errorEvent(error, undefined))
    connection.close(code, reason)
  }
  const work = async (): Promise<void> => {
    working = true
    let notified = false
    for (let message = waiting.take(); message && !connection.signal.aborted; message = waiting.take()) {
      notified = closing !== null
      await answer(message).finally(message.lease.end)
    }
    working = false
    if (closing) close(closing, notified)
  }
  onEnd(connection, lifetime_seconds, (reason) => {
    closing ??= reason
    if (!working) close(closing, false)
  })
  connection.signal.addEventListener('abort', () => waiting.clear())
  return (text, lease) => {
    if (connection.signal.aborted) return lease.end()
    const wanted = readCancelMessage(text)
    if (wanted) {
      lease.end()
      const named = wanted.response_id === undefined || wanted.response_id === active?.response_id ? active : null
      if (!named || named.cancel.signal.aborted) return countIdle()
      return named.cancel.abort()
    }
    if (closing) return lease.end()
    if (!waiting.add(text, lease)) {
      lease.end()
      return cutOff('too many messages')
    }
    if (!working) void work()
  }
}

/** Calls `end` when the lifetime of the connection is over, and when the service shuts down. */
function onEnd(
  { signal, draining }: WebSocketConnection,
  lifetime_seconds: number,
  end: (closing: Closing) => void,
): void {
  const lifetime = setTimeout(
    () => end({ error: TOO_OLD, code: 1000, reason: 'connection limit reached', notify_idle: true }),
    lifetime_seconds * 1000,
  )
  draining.addEventListener('abort', () => end({ error: SHUTTING_DOWN, code: 1001, reason: 'shutting down' }), {
    signal,
  })
  signal.addEventListener('abort', () => clearTimeout(lifetime))
}

const TOO_OLD = new ApiError(
  'websocket_connection_limit_reached',
  'This connection has been open for 60 minutes. Open a new one to continue.',
)
const SHUTTING_DOWN = overloaded('stopping', 'The service is shutting down. Try again shortly.')
const TOO_MANY = new ApiError(
  'too_many_requests',
  `Only ${RUNS_WAITING_MAX} turns may wait on one connection, of ${JSON_BYTES_MAX} bytes in all. Wait for an answer before you send more.`,
)

/** `add` returns false when there is no room even for a refusal. A message beyond the limits is queued as refused. */
function openQueue(): {
  add(text: Buffer | null, lease: Lease): boolean
  take(): SocketMessage | undefined
  clear(): void
} {
  const messages: SocketMessage[] = []
  let count = 0
  let bytes = 0
  return {
    add(text, lease) {
      if (messages.length >= MESSAGES_WAITING_MAX) return false
      const size = text?.length ?? 0
      // A message that is taken at once does not wait, whatever its size.
      if (count >= RUNS_WAITING_MAX || (count > 0 && bytes + size > JSON_BYTES_MAX)) {
        lease.end()
        messages.push({ text: size > SMALL_MESSAGE_BYTES ? null : text, lease, refused: TOO_MANY })
        return true
      }
      count += 1
      bytes += size
      messages.push({ text, lease, refused: null })
      return true
    },
    take() {
      const message = messages.shift()
      if (message && !message.refused) {
        count -= 1
        bytes -= message.text?.length ?? 0
      }
      return message
    },
    clear() {
      for (const { lease } of messages) lease.end()
      messages.length = count = bytes = 0
    },
  }
}
