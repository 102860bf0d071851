/**
 * What an engine error means, for engines of every family. Video, moderation and translation engines use the first four and `unreachable`:
 * their callers decide only whether to try again. Chat engines, whose client learns more, use `rejected` and the last five.
 * - `rejected`: the engine refuses this request as it is.
 * - `moderation`: the engine's own content filter refused it.
 * - `transient`: a later try may succeed. A reply that cannot be read is of this kind.
 * - `permanent`: no request can succeed until the operator acts, as with refused credentials.
 * - `context_length`: the request is too long for the model.
 * - `overloaded`: no capacity now.
 * - `unreachable`: no connection.
 * - `timeout`: no answer in time, or silence in the middle of one.
 * - `failed`: anything else that is not the client's doing, such as an answer that is unreadable or incomplete, or refused credentials.
 */
export const ENGINE_ERROR_KINDS = [
  ...(['rejected', 'moderation', 'transient', 'permanent'] as const),
  ...(['context_length', 'overloaded', 'unreachable', 'timeout', 'failed'] as const),
] as const
export type EngineErrorKind = (typeof ENGINE_ERROR_KINDS)[number]

/**
 * Token counts that a server reports for a request that is too long: how many it takes, input and output together, and how many it
 * counted. `input` is the part of `asked` that was input, where the server reports it separately from the room for the output.
 */
export type ContextOverflow = { limit: number; asked: number; input?: number }

/**
 * A part of a chat request that we write, so no client can correct it. `call_ids`: ids that another provider gave to earlier calls. `plain`: an
 * answer that is not streamed. `no_reasoning`: earlier calls without the reasoning that led to them.
 */
export type FormPart =
  | 'max_tokens'
  | 'max_completion_tokens'
  | 'stream_options'
  | 'extra_content'
  | 'reasoning_details'
  | 'call_ids'
  | 'plain'
  | 'no_reasoning'
  | 'developer_role'

type Details = {
  /** With `rejected`: what was refused, if not the request as a whole. */
  subject?: 'reference_media' | undefined
  retry_after_seconds?: number | undefined
  /** The engine's own code, for the log. */
  engine_code?: string | undefined
  /** Nothing was begun: the engine refused, or was never reached. Otherwise a call that failed may have had its effect. */
  not_begun?: boolean
  /** With `context_length`, when the engine reports it. */
  tokens?: ContextOverflow | undefined
  /** With `rejected`: the message of the 400 in place of a general one. A text of ours alone, never one of a server. */
  public_message?: string | undefined
  /** With `rejected`: the field of the request at fault, by its name in chat completions. */
  param?: string | undefined
  /** With `rejected`: what the server does not take of how we write requests. */
  refused_form?: FormPart | undefined
  /** With `failed`: the connection was lost, as when the server ended. */
  connection_lost?: boolean
  /** No request can succeed before the operator acts: credentials, the balance at the provider, the name of the model, the address. */
  needs_operator?: boolean
  /** What the server said, for the log alone, without what may be of the request, an address or a credential. */
  reason?: string | undefined
  cause?: unknown
}

/** An error of an engine. Its message is for the log and never holds a prompt, a URL, a host or a credential. */
export class EngineError extends Error {
  override name = 'EngineError'
  readonly kind: EngineErrorKind
  readonly subject: Details['subject']
  readonly retry_after_seconds: number | undefined
  readonly engine_code: string | undefined
  readonly not_begun: boolean
  readonly tokens: ContextOverflow | undefined
  readonly public_message: string | undefined
  readonly param: string | undefined
  readonly refused_form: FormPart | undefined
  readonly connection_lost: boolean
  readonly needs_operator: boolean
  /** Not a member: whoever writes the error out does not write it by accident. */
  readonly #reason: string | undefined

  constructor(kind: EngineErrorKind, message: string, details: Details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.kind = kind
    this.subject = details.subject
    this.retry_after_seconds = details.retry_after_seconds
    this.engine_code = details.engine_code
    this.not_begun = details.not_begun ?? !OUTCOME_UNKNOWN.has(kind)
    this.tokens = details.tokens
    this.public_message = details.public_message
    this.param = details.param
    this.refused_form = details.refused_form
    this.connection_lost = details.connection_lost ?? false
    this.needs_operator = details.needs_operator ?? false
    this.#reason = details.reason
  }

  get reason(): string | undefined {
    return this.#reason
  }
}

/** The message with what the server said, for the log. */
export function withReason({ message, reason }: EngineError): string {
  return reason === undefined ? message : `${message} It says: ${reason}`
}

/** After these the engine may be at work, unless the thrower knows better. */
const OUTCOME_UNKNOWN: ReadonlySet<EngineErrorKind> = new Set(['transient', 'timeout', 'failed'])
