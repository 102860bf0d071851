import { asRecord } from '../../../platform/json/record.ts'
import { outboundBehind } from '../../ai-sdk/errors.ts'
import { EngineError } from '../../engine-error.ts'
import { callError, unreadableReply } from '../../reply-error.ts'
import type { ProtocolWords } from '../reply/complaint.ts'
import { accepted } from '../reply/read.ts'
import type { Heard } from './heard.ts'

/** The error behind what a package threw. Texts of packages hold prompts and URLs, so none is kept: the provider's reply is read again. */
export function packageError(thrown: unknown, { reply }: Heard, words: ProtocolWords, signal: AbortSignal): unknown {
  if (thrown instanceof EngineError) return thrown
  if (signal.aborted) return new EngineError('transient', 'The call was ended.')
  const outbound = outboundBehind(thrown)
  if (outbound !== null) return callError(outbound)
  const { name } = asRecord(thrown) ?? {}
  if (reply !== null)
    return refusalIn(() => accepted(reply, words)) ?? unreadableReply('the package could make nothing of it')
  if (typeof name === 'string' && BEFORE_SENDING.has(name))
    return new EngineError('rejected', `The package does not take the request: ${name}.`, { engine_code: name })
  if (name === 'AI_LoadAPIKeyError' || name === 'AI_LoadSettingError')
    return new EngineError('permanent', 'The package misses a credential or a setting.', { engine_code: name })
  return unreadableReply('the package could make nothing of it')
}

function refusalIn(read: () => unknown): unknown {
  try {
    read()
    return null
  } catch (error) {
    return error
  }
}

/** What packages throw about a request that they have not sent. */
const BEFORE_SENDING = new Set([
  'AI_UnsupportedFunctionalityError',
  'AI_InvalidPromptError',
  'AI_InvalidArgumentError',
  'AI_NoSuchModelError',
])
