import type { FastifyInstance } from 'fastify'
import { StartError } from '../start-error.ts'

/** Listens on host and port; port 0 picks one. Returns the port. Throws StartError with the remedy when the address cannot be had. */
export async function listenOn(http: FastifyInstance, at: { host: string; port: number }): Promise<number> {
  try {
    await http.listen(at)
  } catch (error) {
    throw listenError(error, at)
  }
  const address = http.server.address()
  return typeof address === 'object' && address ? address.port : at.port
}

/** A StartError with the remedy for an address that cannot be listened on; any other error unchanged. */
export function listenError(error: unknown, at: { host: string; port: number }): unknown {
  const reason = REASONS.get((error as NodeJS.ErrnoException).code ?? '')
  return reason ? new StartError(reason(at)) : error
}

type Reason = (at: { host: string; port: number }) => string

const noSuchHost: Reason = ({ host }) =>
  `${host} is no address of this machine. Name one with --host: 127.0.0.1 for this machine alone, 0.0.0.0 for every network.`

/** Error codes of the operating system for an address that cannot be listened on. */
const REASONS: ReadonlyMap<string, Reason> = new Map([
  [
    'EADDRINUSE',
    ({ host, port }) =>
      `Port ${port} of ${host} is in use by another program. End that program, or name another port with --port (0 picks a free one).`,
  ],
  ['EACCES', ({ port }) => `Port ${port} may not be used by this user. Name one from 1024 on with --port.`],
  ['EADDRNOTAVAIL', noSuchHost],
  ['ENOTFOUND', noSuchHost],
  ['EAI_AGAIN', noSuchHost],
])
