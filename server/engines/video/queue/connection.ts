import type { EngineCall } from '../../../platform/outbound/client.ts'
import { type EngineClient, engineClient } from '../../../platform/outbound/client.ts'
import { EngineError } from '../../engine-error.ts'
import type { JsonValue, RenderState, Ticket } from '../contract.ts'

/** A connection to one catalog: calls go below `address` and nowhere else. */
export type CatalogConnection = { client: EngineClient; address: string }

/** A body in which files may be `data:` URLs that are read only while it is sent. */
export type Encode = (json: object) => Pick<EngineCall, 'json' | 'body'>

/** One way of queuing renders: how they are begun, followed, canceled and, where there is a list, found again. */
export type QueueDialect = {
  cancel: 'queued' | 'any'
  /** `json` is the reply. */
  start(start: StartCall, signal: AbortSignal): Promise<{ ticket: JsonValue; json: unknown }>
  /** A finished render may come without the URL of its clip, where `result` has it. */
  poll(ticket: Ticket, signal: AbortSignal): Promise<RenderState>
  /** What a finished render came to, where that is asked for separately. Throws EngineError when it cannot be had now. */
  result?(ticket: Ticket, signal: AbortSignal): Promise<RenderState>
  cancelRender(ticket: Ticket, signal: AbortSignal): Promise<boolean>
  /** The id in a ticket. Throws EngineError `permanent` for a ticket that is not of this dialect. */
  idOf(ticket: Ticket): string
  /** Where the engine lists its renders: those since then that have this model and input. `complete`: it would have been recognized. */
  find?(query: ListQuery): Promise<{ tickets: JsonValue[]; complete: boolean }>
}

export type StartCall = { model: string; input: object; encode: Encode; timeout_ms: number }
export type ListQuery = { model: string; input: { [name: string]: JsonValue }; since: Date }

export function connect(options: { base_url: string; headers: Record<string, string> }): CatalogConnection {
  const address = options.base_url.replace(/\/+$/, '')
  return { address, client: engineClient({ base_url: address, headers: options.headers }) }
}

/**
 * The path of a URL from a reply, below the configured address. Any other place would get the credential: EngineError `permanent`, and
 * a render may have begun.
 */
export function pathBelow({ client, address }: CatalogConnection, url: string): string {
  const root = new URL(address).pathname.replace(/\/+$/, '')
  const { pathname, search } = URL.canParse(url) ? new URL(url) : { pathname: '', search: '' }
  if (client.owns(url) && pathname.startsWith(`${root}/`)) return pathname.slice(root.length) + search
  throw new EngineError('permanent', "The engine's reply leads out of the configured address.", {
    engine_code: 'unreadable',
    not_begun: false,
  })
}

export function notATicket(): EngineError {
  return new EngineError('permanent', 'Not a ticket of this engine.')
}
