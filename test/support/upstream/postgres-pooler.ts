import { createServer, type Socket } from 'node:net'
import { listen } from '../listen.ts'
import { dialPostgres } from './postgres-proxy.ts'

/**
 * A connection pooler as PgBouncer is one: its clients share sessions of the server. In session mode a client keeps one until it ends; in
 * transaction mode it has the one that was used last, or with `in_turn` the next one, until the server says that the transaction is over.
 * Every session begins with the settings of the first client.
 */
export async function postgresPooler(database_url: string, { in_turn = false, servers_max = 5 } = {}) {
  const state = { mode: 'session' as 'session' | 'transaction', opened: 0 }
  const idle: Session[] = []
  const waiting: Array<(session: Session) => void> = []
  const sockets = new Set<Socket>()

  const release = (session: Session) => {
    session.client = null
    const next = waiting.shift()
    if (next) next(session)
    else idle.push(session)
  }
  const take = (startup: Buffer): Promise<Session> => {
    const free = in_turn && state.opened < servers_max ? undefined : in_turn ? idle.shift() : idle.pop()
    if (free) return Promise.resolve(free)
    if (state.opened >= servers_max) return new Promise((resolve) => waiting.push(resolve))
    state.opened += 1
    const socket = dialPostgres(database_url)
    sockets.add(socket.on('error', () => {}))
    socket.on('close', () => {
      state.opened -= 1
      const ended = idle.findIndex((each) => each.socket === socket)
      if (ended >= 0) idle.splice(ended, 1)
    })
    return openSession(socket, startup, (session) => {
      if (state.mode === 'transaction') release(session)
    })
  }

  const server = createServer((client) => {
    sockets.add(client.on('error', () => {}))
    let startup: Buffer | null = null
    let session: Session | null = null
    let asked: Promise<void> = Promise.resolve()
    const send = async (bytes: Buffer) => {
      if (session?.client !== client) session = await take(startup!)
      session.client = client
      session.socket.write(bytes)
    }
    client.on('data', (bytes) => {
      if (startup) {
        const text = bytes[0] === TERMINATE ? null : bytes
        if (text) asked = asked.then(() => send(text))
        return
      }
      startup = bytes
      asked = take(bytes).then((greeter) => {
        client.write(greeter.greeting)
        release(greeter)
      })
    })
    client.on('close', () => {
      if (session?.client === client) release(session)
    })
  })
  const url = new URL(database_url)
  for (const name of ['host', 'port']) url.searchParams.delete(name)
  url.host = `127.0.0.1:${await listen(server)}`
  return {
    /** The database through the pooler. */
    url: url.href,
    /** What a reload of its configuration does: clients give their session back at the end of the transaction. */
    setMode(mode: 'session' | 'transaction') {
      state.mode = mode
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Session = { socket: Socket; greeting: Buffer; client: Socket | null }

const TERMINATE = 'X'.charCodeAt(0)
const READY = 'Z'.charCodeAt(0)
const IDLE = 'I'.charCodeAt(0)

/** Logs in with the startup message of a client, and passes on what the server says. `onIdle`: a transaction has ended. */
function openSession(socket: Socket, startup: Buffer, onIdle: (session: Session) => void): Promise<Session> {
  return new Promise((resolve) => {
    let pending = Buffer.alloc(0)
    let session: Session | null = null
    const greeting: Buffer[] = []
    socket.write(startup)
    socket.on('close', () => session?.client?.destroy())
    socket.on('data', (bytes) => {
      pending = Buffer.concat([pending, bytes])
      let isIdle = false
      let end = 0
      for (; pending.length >= end + 5 && pending.length > end + pending.readInt32BE(end + 1); ) {
        const next = end + 1 + pending.readInt32BE(end + 1)
        isIdle = pending[end] === READY && pending[next - 1] === IDLE
        end = next
      }
      const whole = pending.subarray(0, end)
      pending = pending.subarray(end)
      if (session) session.client?.write(whole)
      else greeting.push(whole)
      if (!isIdle) return
      if (session) return onIdle(session)
      session = { socket, greeting: Buffer.concat(greeting), client: null }
      resolve(session)
    })
  })
}
