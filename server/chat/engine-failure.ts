import type { ChatModelConfig } from '../config/config.ts'
import { type ContextOverflow, EngineError, withReason } from '../engines/engine-error.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'

/** What a client is answered when the engine of its model failed; an error that is no engine's is returned as it is. Logs the engine's. */
export function engineFailure(
  log: Pick<Log, 'warn'>,
  { model, request_id }: { model: Pick<ChatModelConfig, 'id' | 'context_length'>; request_id: string },
  error: unknown,
): unknown {
  if (!(error instanceof EngineError)) return error
  const { kind, tokens, retry_after_seconds, engine_code } = error
  log.warn('chat_engine_failed', {
    ...{ request_id, code: kind, engine: model.id, detail: withReason(error) },
    ...(engine_code !== undefined && { engine_code }),
  })
  switch (kind) {
    case 'rejected':
      return new ApiError('invalid_request_error', error.public_message ?? refusalMessage(error), {
        param: error.param ?? null,
      })
    case 'moderation':
      return new ApiError(
        'content_filter',
        "The model's content filter rejected this request. Change the messages and try again.",
        { param: 'messages' },
      )
    case 'context_length':
      return new ApiError('context_length_exceeded', contextMessage(model, tokens), { param: 'messages' })
    case 'overloaded':
      return new ApiError('server_is_overloaded', 'The model has no capacity at the moment. Try again shortly.', {
        retry_after_seconds,
      })
    case 'unreachable':
      return new ApiError('server_is_overloaded', 'The model cannot be reached at the moment. Try again shortly.')
    case 'timeout':
      return new ApiError('upstream_timeout', 'The model did not answer in time. Try again.')
    case 'failed':
    case 'transient':
    case 'permanent':
      return new ApiError('upstream_error', 'The model failed to answer. Try again.')
  }
}

function refusalMessage({ param }: EngineError): string {
  if (param === undefined || param === 'messages')
    return 'The model did not accept this request. Check the messages and parameters against what the model takes.'
  return `The model did not accept '${param}'. Change its value, or leave it out.`
}

function contextMessage(model: Pick<ChatModelConfig, 'context_length'>, tokens: ContextOverflow | undefined): string {
  const limit = tokens?.limit ?? model.context_length
  if (limit === null) return 'Your input is longer than the model can take. Shorten the messages.'
  const asked = tokens ? `resulted in ${tokens.asked} tokens` : 'is longer than that'
  return `This model's maximum context length is ${limit} tokens. However, your input ${asked}. Please reduce the length of the messages.`
}
