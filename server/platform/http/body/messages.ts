import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Lease } from './byte-budget.ts'

/** Gets every message in order; null for a binary one. `lease` has its bytes: end it once the message has been answered. */
export type OnMessage = (text: Buffer | null, lease: Lease) => void

/** As much comes in two reads, the second while the first is still parsed. What of it is a ping or pong shows afterwards. */
const CHUNK_BYTES = 128 * 1024

/** Delivers each message with a lease of its bytes, counted as they come in, once there is room for them. Closes with 1013 if there is none. */
export function deliverMessages(ws: WebSocket, socket: Duplex, openLease: () => Lease, onMessage: OnMessage): void {
  let [lease, received, counted] = [openLease(), 0, 0]
  let room: Promise<unknown> | undefined
  const count = (bytes: number) => {
    const waiting = lease.add(bytes)
    if (!waiting) return
    ws.pause()
    // Several messages of one chunk may wait: they are delivered in order.
    const all: Promise<unknown> = Promise.all([room, waiting]).then(() => {
      if (room !== all) return
      room = undefined
      ws.resume()
    })
    room = all
    all.catch(() => ws.close(1013, 'too many bytes at once'))
  }
  socket.prependListener('data', ({ length }: Buffer) => {
    received += length
    if (received <= Math.max(counted, CHUNK_BYTES)) return
    const more = received - counted
    counted = received
    count(more)
  })
  ws.on('message', (data, isBinary) => {
    if (counted === 0) count((data as Buffer).length)
    const whole = lease
    ;[lease, received, counted] = [openLease(), 0, 0]
    const deliver = () => onMessage(isBinary ? null : (data as Buffer), whole)
    if (room) room.then(deliver, whole.end)
    else deliver()
  })
  // Pings and pongs, each behind two bytes and a mask, are not part of a message.
  const uncount = ({ length }: Buffer) => {
    received -= 6 + length
  }
  ws.on('ping', uncount).on('pong', uncount)
  ws.once('close', () => lease.end())
}
