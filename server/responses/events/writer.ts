import type { ChatEvent, FinishReason, TokenUsage } from '../../engines/chat/contract.ts'
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import { type ApiError, errorBody } from '../../platform/errors.ts'
import type { ResponseEvent } from '../call.ts'
import type { ToolOrigin } from '../request/tools.ts'
import type { ResponseObject } from '../schema/response.ts'
import type { Showing, Tell } from './open-items.ts'
import { outputItems } from './output-items.ts'
import { usageView } from './usage.ts'

export type WriterOptions = {
  /** The client's tools by the names the model knows. A call of any other name is a function call of that name. */
  tools: ReadonlyMap<string, ToolOrigin>
  showing: Showing
  clock: Clock
  /** Number of the first event. Default 0. */
  sequence_number?: number
}

/**
 * Writes one answer as events of contract 11.1 and, by the very same calls, into `response`: a plain answer is what the events have
 * made of it. Every call returns the events it caused, in order. `response` is the writer's until the last event.
 */
export type ResponseWriter = {
  /** Tells the whole object as it is now. */
  tell(type: 'response.created' | 'response.in_progress'): ResponseEvent[]
  take(batch: readonly ChatEvent[]): ResponseEvent[]
  /** Whether the model has said why it stopped. */
  isFinished(): boolean
  /** Gives the response the status that goes with the model's reason, and its usage. Tells nothing yet: it is stored first. */
  settle(usage: TokenUsage): void
  /** Closes what is open and gives the response the status `cancelled`. */
  cancel(usage: TokenUsage | null): ResponseEvent[]
  /** The last event, by the status. */
  end(): ResponseEvent[]
  /** Fails the response, whatever it was, and tells it: the last event. Items that were open stay in it, incomplete. */
  fail(error: ApiError, options: { error_event: boolean }): ResponseEvent[]
}

export function responseWriter(response: ResponseObject, options: WriterOptions): ResponseWriter {
  const out = eventList(options.sequence_number ?? 0)
  const items = outputItems(response, out.tell, options)
  let reason: FinishReason | null = null
  const tellWhole = (type: string) => out.tell(type, `"response":${JSON.stringify(response)}`)

  return {
    tell(type) {
      tellWhole(type)
      return out.told()
    },
    take(batch) {
      for (const event of batch) {
        if (event.type === 'end' || event.type === 'choice-usage' || event.choice !== 0 || reason !== null) continue
        if (event.type === 'finish') {
          reason = event.reason
          items.finish(cutOff(reason) ? 'incomplete' : 'completed')
        } else items.say(event)
      }
      return out.told()
    },
    isFinished: () => reason !== null,
    settle(usage) {
      const why = reason && cutOff(reason)
      response.status = why ? 'incomplete' : 'completed'
      if (why) response.incomplete_details = { reason: why }
      else response.completed_at = unixSeconds(options.clock.now())
      response.usage = usageView(usage)
    },
    cancel(usage) {
      if (reason === null) items.finish('incomplete')
      response.status = 'cancelled'
      response.incomplete_details = { reason: 'cancelled' }
      response.usage = usage && usageView(usage)
      return out.told()
    },
    end() {
      tellWhole(response.status === 'completed' ? 'response.completed' : 'response.incomplete')
      return out.told()
    },
    fail(error, { error_event }) {
      const told = errorView(error)
      out.tellDeltasOnly(() => items.abandon())
      if (error_event) out.tell('error', errorMembers(told))
      const failed = {
        status: 'failed',
        error: told,
        incomplete_details: null,
        completed_at: null,
        usage: null,
      } as const
      Object.assign(response, failed)
      tellWhole('response.failed')
      return out.told()
    },
  }
}

function eventList(first: number) {
  let events: ResponseEvent[] = []
  let sequence_number = first
  let deltasOnly = false
  const tell: Tell = (type, members) => {
    if (deltasOnly && !type.endsWith('.delta')) return
    events.push({ type, sequence_number, data: `{"type":"${type}","sequence_number":${sequence_number},${members}}` })
    sequence_number += 1
  }
  return {
    tell,
    told(): ResponseEvent[] {
      const all = events
      events = []
      return all
    },
    /** What is abandoned is not closed; the last it has to say comes all the same. */
    tellDeltasOnly(work: () => void): void {
      deltasOnly = true
      work()
      deltasOnly = false
    },
  }
}

/** Why an answer is incomplete; null when it is whole. */
function cutOff(reason: FinishReason): 'max_output_tokens' | 'content_filter' | null {
  if (reason === 'length') return 'max_output_tokens'
  return reason === 'content_filter' ? 'content_filter' : null
}

/** The error as a response holds it. */
export function errorView(error: ApiError): NonNullable<ResponseObject['error']> {
  const { type, code, message, param } = errorBody(error).error
  return { type, code, message, param }
}

/** Clients read the nested form or the flat one. */
function errorMembers(error: NonNullable<ResponseObject['error']>): string {
  const { code, message, param } = error
  return JSON.stringify({ error, code, message, param }).slice(1, -1)
}
