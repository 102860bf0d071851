import type { EngineReply } from '../../../platform/outbound/client.ts'
import { EngineError } from '../../engine-error.ts'
import { renderError, statusError } from '../../reply-error.ts'
import type { Dialect } from './dialects/dialect.ts'

/** The error behind a reply that refuses: by the engine's own code where it has one, else by the status. The message is ours alone. */
export function refusalError(dialect: Dialect, { status, headers, json }: EngineReply): EngineError {
  const code = dialect.errorCode(json)
  return withKind(dialect, code, statusError(status, headers, code === '' ? json : { error: { code } }))
}

/** The error of a task that failed, from its `error`. */
export function failureError(dialect: Dialect, error: unknown): EngineError {
  const code = dialect.errorCode({ error })
  return withKind(dialect, code, renderError(code === '' ? error : { code }))
}

function withKind(dialect: Dialect, code: string, error: EngineError): EngineError {
  const kind = dialect.errorKind(code) ?? error.kind
  const { message, retry_after_seconds, engine_code } = error
  return new EngineError(kind, message, {
    subject: kind === 'rejected' && (error.subject || dialect.isMediaCode(code)) ? 'reference_media' : undefined,
    retry_after_seconds: kind === 'transient' ? retry_after_seconds : undefined,
    engine_code,
    // The code decides, whatever status a gateway gave it.
    not_begun: kind !== 'transient' || (error.kind === 'transient' && error.not_begun),
  })
}
