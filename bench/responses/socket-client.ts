import { WebSocket } from 'ws'

/** The load to generate: sockets that each send the next `response.create` after the end of the previous response. */
export type SocketLoad = {
  url: string
  headers: Record<string, string>
  message: string
  sockets: number
  turns: number
}

export type SocketLoaded = { completed: number; failed: number }

/** The type of an event comes first in it. */
const END = /^\{"type":"(response\.(?:completed|incomplete|failed)|error)"/

/** A client in a process of its own. Reads `SocketLoad` as its argument. */
if (import.meta.main) console.log(JSON.stringify(await run(JSON.parse(process.argv[2]!) as SocketLoad)))

async function run({ url, headers, message, sockets, turns }: SocketLoad): Promise<SocketLoaded> {
  const loaded: SocketLoaded = { completed: 0, failed: 0 }
  let remaining = turns
  const converse = () =>
    new Promise<void>((resolve, reject) => {
      const socket = new WebSocket(url, { headers, perMessageDeflate: false })
      const ask = () => (remaining-- > 0 ? socket.send(message) : socket.close())
      socket.on('open', ask)
      socket.on('error', reject)
      socket.on('close', () => resolve())
      socket.on('message', (data: Buffer) => {
        const ended = END.exec(data.toString('latin1', 0, 60))?.[1]
        if (ended === undefined) return
        if (ended === 'response.completed') loaded.completed += 1
        else loaded.failed += 1
        ask()
      })
    })
  await Promise.all(Array.from({ length: sockets }, converse))
  return loaded
}
