import { createServer, type Socket } from 'node:net'
import { listen } from '../listen.ts'

type Link = {
  near: Socket
  far: Socket
  deaf: boolean
  /** What the far end sent and a slow network has not delivered yet; null is the end of the connection. */
  late: Array<Buffer | null>
}

export type Relay = {
  port: number
  /** Ends every connection and refuses new ones, until `restore`. */
  cut(): void
  /** Ends every connection there is now; new ones are made as before. */
  drop(): void
  /** What the far end sends on the connections there are now is lost; what it is sent still arrives. */
  deafen(): void
  /** Packets of every connection, in both directions and of new ones too, wait until `restore`, as when a network swallows them. */
  stall(): void
  /** What the far end sends arrives so much later, until `restore`. */
  slow(milliseconds: number): void
  restore(): void
  /** New connections lead there from now on. */
  lead(dial: () => Socket): void
  /** Connections refused so far. */
  refused(): number
  close(): Promise<void>
}

/** A stretch of network on a port of loopback that can be damaged. `dial` connects to its far end. */
export async function startRelay(dial: () => Socket): Promise<Relay> {
  const links = new Set<Link>()
  const state = { dial, whole: true, stalled: false, slow_ms: 0, refused: 0 }
  const server = createServer((near) => {
    if (!state.whole) {
      state.refused += 1
      return void near.destroy()
    }
    const link: Link = { near, far: state.dial(), deaf: false, late: [] }
    const deliver = (what: Buffer | null) => {
      if (what !== null) return void (link.deaf || near.write(what))
      near.destroySoon()
      link.far.destroy()
      links.delete(link)
    }
    const arrive = (what: Buffer | null) => {
      if (state.slow_ms === 0 && link.late.length === 0) return deliver(what)
      link.late.push(what)
      setTimeout(() => deliver(link.late.shift()!), state.slow_ms)
    }
    links.add(link)
    near.on('data', (bytes) => link.far.write(bytes))
    link.far.on('data', arrive)
    if (state.stalled) pauseOf(link)
    near.on('error', () => {}).on('close', () => deliver(null))
    link.far.on('error', () => {}).on('close', () => arrive(null))
  })
  const drop = () => {
    for (const { near, far } of links) {
      near.destroy()
      far.destroy()
    }
  }
  return {
    port: await listen(server),
    cut() {
      state.whole = false
      drop()
    },
    drop,
    deafen() {
      for (const link of links) link.deaf = true
    },
    stall() {
      state.stalled = true
      for (const link of links) pauseOf(link)
    },
    slow(milliseconds) {
      state.slow_ms = milliseconds
    },
    restore() {
      Object.assign(state, { whole: true, stalled: false, slow_ms: 0 })
      for (const { near, far } of links) {
        near.resume()
        far.resume()
      }
    },
    lead(next) {
      state.dial = next
    },
    refused: () => state.refused,
    async close() {
      drop()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function pauseOf({ near, far }: Link): void {
  near.pause()
  far.pause()
}
