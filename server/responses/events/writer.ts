import type { ChatEvent, FinishReason, TokenUsage } from '../../engines/chat/contract.ts'
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import type { ApiError } from '../../platform/errors.ts'
import type { ToolOrigin } from '../request/tools.ts'
import type { ResponseObject } from '../schema/response.ts'
import { failResponse, type ResponseEvent, responseUsage } from './event.ts'
import type { Emit, ReasoningView } from './open-items.ts'
import { compactionItem, outputItems } from './output-items.ts'

export type WriterOptions = {
  /** The client's tools by the names the model knows. A call of any other name is a function call of that name. */
  tools: ReadonlyMap<string, ToolOrigin>
  reasoning_view: ReasoningView
  /** For a compaction: encrypts the summary, which is then its only item. */
  seal_summary?: ((text: string) => string) | undefined
  clock: Clock
  /** Number of the first event. Default 0. */
  sequence_number?: number
}

/**
 * Turns one answer of a model into events of contract 11.1 and, by the same calls, into `response`: a plain answer is what the events
 * have made of it. Every call returns the events it caused, in order. Only the writer changes `response` until the last event.
 */
export type ResponseWriter = {
  /** An event with the response object as it is now. */
  snapshot(type: 'response.created' | 'response.in_progress'): ResponseEvent[]
  write(batch: readonly ChatEvent[]): ResponseEvent[]
  /** Whether the model has given its finish reason. */
  isFinished(): boolean
  /** Sets the final status, by the finish reason, and the usage. Emits nothing: the response is stored before its last event. */
  settle(usage: TokenUsage): void
  /** Closes the open item and makes the response `cancelled`. */
  cancel(usage: TokenUsage | null): ResponseEvent[]
  /** The last event, by the status. */
  end(): ResponseEvent[]
  /** Makes the response `failed`, whatever its status was: the last events. Items that were open stay in it, incomplete. */
  fail(error: ApiError, options: { error_event: boolean }): ResponseEvent[]
}

export function responseWriter(response: ResponseObject, options: WriterOptions): ResponseWriter {
  const events = eventBuffer(options.sequence_number ?? 0)
  const items = options.seal_summary
    ? compactionItem(response, events.emit, options.seal_summary)
    : outputItems(response, events.emit, options)
  let reason: FinishReason | null = null
  const snapshot = (type: string): ResponseEvent[] => {
    events.emit(type, `"response":${JSON.stringify(response)}`)
    return events.take()
  }

  return {
    snapshot,
    write(batch) {
      for (const event of batch) {
        if (event.type === 'end' || event.choice !== 0 || reason !== null) continue
        if (event.type === 'finishing' || event.type === 'choice-usage') continue
        if (event.type === 'finish') {
          reason = event.reason
          items.finish(incompleteReason(reason) ? 'incomplete' : 'completed')
        } else items.append(event)
      }
      return events.take()
    },
    isFinished: () => reason !== null,
    settle(usage) {
      const incomplete = reason && incompleteReason(reason)
      response.status = incomplete ? 'incomplete' : 'completed'
      if (incomplete) response.incomplete_details = { reason: incomplete }
      else response.completed_at = unixSeconds(options.clock.now())
      response.usage = responseUsage(usage)
    },
    cancel(usage) {
      // A summary that was cut off must not replace the conversation.
      if (reason === null && !options.seal_summary) items.finish('incomplete')
      response.status = 'cancelled'
      response.incomplete_details = { reason: 'cancelled' }
      response.usage = usage && responseUsage(usage)
      return events.take()
    },
    end: () => snapshot(response.status === 'completed' ? 'response.completed' : 'response.incomplete'),
    fail(error, { error_event }) {
      events.emitDeltasOnly(() => items.abandon())
      const last = events.take()
      return [...last, ...failResponse(response, error, { sequence_number: events.nextNumber(), error_event })]
    },
  }
}

function eventBuffer(first_number: number) {
  let events: ResponseEvent[] = []
  let sequence_number = first_number
  let deltasOnly = false
  const emit: Emit = (type, members) => {
    if (deltasOnly && !type.endsWith('.delta')) return
    events.push({ type, sequence_number, data: `{"type":"${type}","sequence_number":${sequence_number},${members}}` })
    sequence_number += 1
  }
  return {
    emit,
    nextNumber: () => sequence_number,
    /** Empties the buffer. */
    take(): ResponseEvent[] {
      const taken = events
      events = []
      return taken
    },
    /** Emits no event of an abandoned item but the deltas of text that was still buffered. */
    emitDeltasOnly(work: () => void): void {
      deltasOnly = true
      work()
      deltasOnly = false
    },
  }
}

/** Why an answer is incomplete; null when it is complete. */
function incompleteReason(reason: FinishReason): 'max_output_tokens' | 'content_filter' | null {
  if (reason === 'length') return 'max_output_tokens'
  return reason === 'content_filter' ? 'content_filter' : null
}
