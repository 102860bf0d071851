import { ApiCallError } from '../api-client.ts'

/** For whoever repairs it: what was sent, what came back, and what is probably wrong. */
export type CheckFailure = { sent: string; received: string; cause: string }

/** A step that failed. */
export class StepFailure extends Error {
  override name = 'StepFailure'
  readonly failure: CheckFailure

  constructor(failure: CheckFailure) {
    super(failure.received)
    this.failure = failure
  }
}

/** A step that does not apply here. The message says why. */
export class StepSkipped extends Error {
  override name = 'StepSkipped'
}

/** Throws StepFailure unless what came is as it should be. */
export function expect(isRight: boolean, failure: CheckFailure): asserts isRight {
  if (!isRight) throw new StepFailure(failure)
}

/** What an error of `sent` says about the way to the target, and about the service. */
export function failureOf(sent: string, error: unknown): CheckFailure {
  if (error instanceof ApiCallError && error.status !== null) {
    const { status, code, foreign } = error
    if (!foreign) {
      const received = `HTTP ${status}, ${code ?? 'no code'}: ${error.message}`
      return { sent, received, cause: causeOfCode(code ?? '', status) }
    }
    const { media_type, server, title } = foreign
    const received = `HTTP ${status}, ${media_type}, "${title}"${server === null ? '' : `, from ${server}`}`
    return { sent, received, cause: causeOfForeign(status) }
  }
  const { name, code, message } = rootOf(error)
  if (name === 'TimeoutError') return { sent, received: 'nothing within the time limit', cause: CAUSES.silence }
  return { sent, received: code ?? message, cause: causeOfConnection(code ?? message) }
}

/** The error that began it: `fetch` hides it behind one of its own. */
function rootOf(error: unknown): { name: string; code: string | undefined; message: string } {
  let { name, code, message, cause } = error as NodeJS.ErrnoException
  while (cause !== undefined && cause !== null) ({ name, code, message, cause } = cause as NodeJS.ErrnoException)
  return { name, code, message }
}

/** What more than one step may find out. */
export const CAUSES = {
  silence:
    'Whatever listens there took the request and did not answer: a proxy that leads nowhere, or a node that hangs. Its log and /readyz of each node say more.',
  foreign: 'The answer is not of the form that Kinora gives: something between here and the service changed it.',
  upgrade:
    'The proxy does not pass on `Upgrade` and `Connection` for /v1/responses, so no WebSocket opens. nginx: proxy_http_version 1.1 and the two headers; see deploy/nginx.conf.',
  buffering:
    'A proxy gathers the stream and sends it at its end, or in large parts. nginx: proxy_buffering off, and gzip off for text/event-stream; Apache: flushpackets=on; IIS: responseBufferLimit 0.',
  engine:
    'The engine behind the model failed or is full. On a node, `kinora engines check` with the id of the model says why.',
} as const

function causeOfConnection(text: string): string {
  if (/^(ENOTFOUND|EAI_)/.test(text)) return 'DNS: this machine finds no address for the name in the URL.'
  if (text === 'ECONNREFUSED') return 'Nothing listens at this address and port, or a firewall rejects the connection.'
  if (/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(text))
    return 'The address does not answer: a firewall, or a wrong address in DNS.'
  if (text === 'CERT_HAS_EXPIRED') return 'TLS: the certificate has expired.'
  if (text === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'TLS: the certificate is for another name than the one in the URL.'
  if (/SELF_SIGNED|UNABLE_TO|CERT|ISSUER/.test(text))
    return 'TLS: this machine does not trust the certificate. The proxy leaves out the certificates between it and its authority, or the authority is your own: name it in NODE_EXTRA_CA_CERTS.'
  if (/SSL|TLS|EPROTO/.test(text)) return 'TLS: the port does not speak TLS, or only versions that are too old.'
  if (/redirect/.test(text))
    return 'The address only redirects, to https or to another name: give the URL to which it leads. Redirects are not followed, since the key would go along.'
  if (/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$|terminated|broke off/.test(text))
    return 'The connection ended before the answer was complete: a time limit or a body limit of the proxy, or a process that ended. The log of the proxy says which.'
  if (/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(text)) return CAUSES.silence
  return CAUSES.foreign
}

/** An answer that a Kinora service never gives. */
function causeOfForeign(status: number): string {
  if (status === 413)
    return 'The proxy limits bodies to fewer bytes than Kinora, which takes 100 MB. nginx: client_max_body_size 0.'
  if (status === 504) return 'The proxy waited for the service until its own time limit. nginx: proxy_read_timeout.'
  if (status === 502 || status === 503) return 'The proxy reaches no node of Kinora: wrong address, or none is ready.'
  if (status === 401 || status === 403)
    return 'Something before Kinora asks for a login of its own, or rejects the request.'
  if (status === 429) return 'The proxy limits the number of requests.'
  return 'The URL does not lead to Kinora: another site answers, or the proxy passes on only some paths.'
}

const BY_CODE: Readonly<Record<string, string>> = {
  missing_api_key: 'The proxy removes the header Authorization.',
  invalid_api_key: 'KINORA_API_KEY is a key of another service, or was revoked. Make one in the console.',
  insufficient_credits: 'The balance is too low: kinora admin credits grant --org … --amount … --note ….',
  permission_denied: 'The owner of the key is not an owner or admin of the organization.',
  rate_limit_exceeded: 'The limit of requests of the plan (requests_per_minute). Wait, or use a key of another person.',
  too_many_requests: 'The organization has too many requests at the moment. Wait, then run this again.',
  concurrency_limit_exceeded: 'The plan allows no more at the same time. Wait until what runs has ended.',
  storage_limit_exceeded: 'The organization stores as much as its plan allows (max_stored_bytes).',
  upstream_error: CAUSES.engine,
  upstream_timeout: CAUSES.engine,
  content_filter: CAUSES.engine,
  server_is_overloaded:
    'The engine behind the model is full or cannot be reached, or the node has no database or storage: see /readyz.',
}

function causeOfCode(code: string, status: number): string {
  if (code === 'server_error' && status !== 500)
    return 'The proxy reaches no node of Kinora: wrong address, or none is ready.'
  if (status === 500) return 'A fault of Kinora. The log of the node has `request_failed` with the reason.'
  return BY_CODE[code] ?? 'Kinora rejected the request: docs/errors.md has the code.'
}
