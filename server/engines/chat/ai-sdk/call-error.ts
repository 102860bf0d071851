import { asRecord } from '../../../platform/json/record.ts'
import type { OutboundError } from '../../../platform/outbound/error.ts'
import { outboundBehind } from '../../ai-sdk/errors.ts'
import { EngineError } from '../../engine-error.ts'
import { errorObjectError, statusFault } from '../openai/read/error.ts'
import { beginsJson } from '../openai/read/json-end.ts'
import type { ReadWords } from '../server-words.ts'
import { refused } from './refused.ts'

/**
 * The error behind what a package threw or reported in its stream. Texts of packages hold prompts and URLs, so none is kept; `words` makes
 * those of servers fit for the log. `begun`: part of the answer had come.
 */
export function callFault(thrown: unknown, begun: boolean, words: ReadWords): EngineError {
  if (thrown instanceof EngineError) return thrown
  const outbound = outboundBehind(thrown)
  if (outbound !== null) return connectionError(outbound)
  const { name, statusCode, responseHeaders, responseBody, message, value, text } = asRecord(thrown) ?? {}
  // Errors within a stream have a status of the package's and no name.
  if (typeof statusCode === 'number' && (name === 'AI_APICallError' || !(thrown instanceof Error))) {
    const body = name === undefined ? { error: { message } } : responseBody
    if (typeof responseBody === 'string' && responseBody.includes('API_KEY_INVALID'))
      return new EngineError('failed', 'The model server rejects the credential.', { needs_operator: true })
    const headers = (asRecord(responseHeaders) ?? {}) as Record<string, string>
    const error = statusFault(statusCode, headers, body, words)
    return begun ? late(error) : error
  }
  if (typeof name === 'string' && REFUSALS.has(name)) {
    const error = refused('messages', 'the request has a part that this model does not take.')
    return begun ? late(error) : error
  }
  if (name === 'AI_LoadAPIKeyError' || name === 'AI_LoadSettingError')
    return new EngineError('failed', 'The package misses a credential or a setting.', { needs_operator: true })
  if (name === 'AI_TypeValidationError' || name === 'AI_JSONParseError') {
    // An event that is no part of an answer may say why, also in words.
    const said = typeof text === 'string' && !beginsJson(text) ? text : (asRecord(value)?.error ?? value)
    const error = errorObjectError(said, { begun, words })
    if (error.kind !== 'failed' || error.reason !== undefined) return error
  }
  if (typeof name === 'string' && name.startsWith('AI_'))
    return new EngineError('failed', `The package reports ${name}.`)
  return errorObjectError(asRecord(thrown)?.error ?? thrown, { begun, words })
}

/**
 * Whether Anthropic refuses to think since the last calls of the history lack the signed thinking that led to them: chat requests do not
 * carry it. Source: https://github.com/openai/openai-agents-python/issues/765
 */
export function isThinkingMissing(thrown: unknown): boolean {
  const { statusCode, responseBody } = asRecord(thrown) ?? {}
  return (
    statusCode === 400 && typeof responseBody === 'string' && /expected `?(redacted_)?thinking\b/i.test(responseBody)
  )
}

/** What packages throw before they send a request that the model cannot take. */
export const REFUSALS: ReadonlySet<string> = new Set(['AI_UnsupportedFunctionalityError', 'AI_InvalidPromptError'])

/** A refusal that comes after part of the answer is a fault of the server. */
function late(error: EngineError): EngineError {
  return error.kind === 'rejected' || error.kind === 'context_length'
    ? new EngineError('failed', 'The model server reports an error.', { reason: error.reason })
    : error
}

function connectionError({ reason, code }: OutboundError): EngineError {
  if (reason === 'timeout') return new EngineError('timeout', 'The model server did not answer in time.')
  if (reason === 'unreachable' && NOT_SENT.test(code ?? ''))
    return new EngineError('unreachable', 'The model server cannot be reached.')
  const needs_operator = reason === 'forbidden'
  return new EngineError('failed', 'The answer of the model server is incomplete or unreadable.', {
    engine_code: code,
    connection_lost: reason === 'unreachable',
    needs_operator,
  })
}

const NOT_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/
