import type { ChatModelConfig } from '../config/config.ts'
import { type ContextOverflow, EngineError, withReason } from '../engines/engine-error.ts'
import { ApiError, overloaded } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { ExchangeRequest } from './request-completion.ts'

/** What a client is answered when the engine of its model failed; an error that is no engine's is returned as it is. Logs the engine's. */
export function engineFailure(log: Pick<Log, 'warn' | 'error'>, exchange: FailedExchange, error: unknown): unknown {
  if (!(error instanceof EngineError)) return error
  const { model, request_id } = exchange
  const { kind, tokens, retry_after_seconds, engine_code } = error
  log.warn('chat_engine_failed', {
    request_id,
    code: kind,
    engine: model.id,
    detail: withReason(error),
    ...(engine_code !== undefined && { engine_code }),
  })
  switch (kind) {
    case 'rejected':
      return refusal(log, exchange, error)
    case 'moderation':
      return new ApiError(
        'content_filter',
        "The model's content filter rejected this request. Change the messages and try again.",
        { param: 'messages' },
      )
    case 'context_length':
      return new ApiError('context_length_exceeded', contextMessage(model, tokens), { param: 'messages' })
    case 'overloaded':
      return overloaded('engine_overloaded', 'The model has no capacity at the moment. Try again shortly.', {
        retry_after_seconds,
      })
    case 'unreachable':
      return overloaded('engine_unreachable', 'The model cannot be reached at the moment. Try again shortly.', {
        cause: error,
      })
    case 'timeout':
      return new ApiError('upstream_timeout', 'The model did not answer in time. Try again.')
    case 'failed':
    case 'transient':
    case 'permanent':
      return failed(error)
  }
}

type FailedExchange = Pick<ExchangeRequest, 'request_id' | 'request' | 'parameters'> & {
  model: Pick<ChatModelConfig, 'id' | 'context_length'>
}

function failed(cause?: EngineError): ApiError {
  return new ApiError('upstream_error', 'The model failed to answer. Try again.', { cause })
}

/** An error of what the client sent names it. What the configuration added to the request is for the operator to correct. */
function refusal(log: Pick<Log, 'error'>, exchange: FailedExchange, error: EngineError): ApiError {
  const { param, public_message } = error
  const setter = param === undefined ? null : setterOf(exchange, param)
  if (setter === 'operator') {
    const { request_id, model } = exchange
    const detail = `The configuration sets ${param}. ${withReason(error)}`
    log.error('chat_engine_needs_operator', { request_id, engine: model.id, detail })
    return failed()
  }
  const named = setter === 'client' ? param! : null
  return new ApiError('invalid_request_error', public_message ?? refusalMessage(named), { param: named })
}

/** Who set a field of the engine's request; null for nobody. */
function setterOf({ parameters, request }: FailedExchange, param: string): 'client' | 'operator' | null {
  const root = /^\w*/.exec(param)![0]
  const field = root === 'max_completion_tokens' ? 'max_tokens' : root
  const { messages, user, extra } = request
  const sent: Record<string, unknown> = { ...extra, messages, user, ...parameters }
  if (sent[field] !== undefined) return 'client'
  return (request as Record<string, unknown>)[field] === undefined ? null : 'operator'
}

function refusalMessage(param: string | null): string {
  if (param === null || param === 'messages')
    return 'The model did not accept this request. Check the messages and parameters against what the model takes.'
  return `The model did not accept '${param}'. Change its value, or leave it out.`
}

function contextMessage(model: Pick<ChatModelConfig, 'context_length'>, tokens: ContextOverflow | undefined): string {
  const limit = tokens?.limit ?? model.context_length
  if (limit === null) return 'Your input is longer than the model can take. Shorten the messages.'
  const asked = tokens ? `resulted in ${tokens.asked} tokens` : 'is longer than that'
  return `This model's maximum context length is ${limit} tokens. However, your input ${asked}. Please reduce the length of the messages.`
}
