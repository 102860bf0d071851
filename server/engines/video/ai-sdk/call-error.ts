import { asRecord } from '../../../platform/json/record.ts'
import { outboundBehind, parseBody } from '../../ai-sdk/errors.ts'
import { EngineError } from '../../engine-error.ts'
import { callError, statusError, unreadableReply } from '../../reply-error.ts'

/** The error behind what a package threw. Texts of packages hold prompts and URLs, so none is kept. */
export function packageError(thrown: unknown, signal: AbortSignal): unknown {
  if (thrown instanceof EngineError) return thrown
  if (signal.aborted) return new EngineError('transient', 'The call was ended.')
  const outbound = outboundBehind(thrown)
  if (outbound !== null) return callError(outbound)
  const { name, statusCode, responseHeaders, responseBody } = asRecord(thrown) ?? {}
  if (typeof statusCode === 'number' && statusCode >= 400)
    return statusError(statusCode, (asRecord(responseHeaders) ?? {}) as Record<string, string>, parseBody(responseBody))
  if (typeof name === 'string' && BEFORE_SENDING.has(name))
    return new EngineError('rejected', `The package does not take the request: ${name}.`, { engine_code: name })
  if (name === 'AI_LoadAPIKeyError' || name === 'AI_LoadSettingError')
    return new EngineError('permanent', 'The package misses a credential or a setting.', { engine_code: name })
  return unreadableReply('the package could make nothing of it')
}

/** True when the provider answered that there is no such render. */
export function isGone(thrown: unknown): boolean {
  const { statusCode } = asRecord(thrown) ?? {}
  return outboundBehind(thrown) === null && (statusCode === 404 || statusCode === 410)
}

/** What packages throw about a request that they have not sent. */
const BEFORE_SENDING = new Set([
  'AI_UnsupportedFunctionalityError',
  'AI_InvalidPromptError',
  'AI_InvalidArgumentError',
  'AI_NoSuchModelError',
])
