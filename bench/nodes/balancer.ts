import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { close, listen } from '../../test/support/listen.ts'

export type Balancer = {
  url: string
  /** What a reload of a proxy does: idle connections are closed, requests under way go on, and new ones take new connections. */
  reload(): void
  stop(): Promise<void>
}

/** How often each node is asked whether it is ready, and for how long it may take to say so. */
const HEALTH_EVERY_MS = 500
const HEALTH_LIMIT_MS = 1000

/**
 * A proxy in front of the nodes at these origins, as docs/operating/proxies.md asks for one: a node whose `/readyz` is not 200 is left out, unless all
 * are, and a request that a node may have received is never sent to another one.
 */
export async function startBalancer(nodes: readonly string[]): Promise<Balancer> {
  const ready = new Map(nodes.map((node) => [node, true]))
  let agent = new Agent({ keepAlive: true })
  let turn = 0
  const inOrder = (): string[] => {
    turn += 1
    const rotated = [...nodes.slice(turn % nodes.length), ...nodes.slice(0, turn % nodes.length)]
    return [...rotated.filter((node) => ready.get(node)), ...rotated.filter((node) => !ready.get(node))]
  }
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of incoming) chunks.push(chunk)
    } catch {
      return
    }
    for (const node of inOrder()) {
      if (await pass({ node, agent, body: Buffer.concat(chunks) }, incoming, outgoing)) return
      ready.set(node, false)
    }
    outgoing.writeHead(502).end()
  })
  const asking = setInterval(() => {
    for (const node of nodes) void isReady(node).then((is) => ready.set(node, is))
  }, HEALTH_EVERY_MS)
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    reload() {
      const before = agent
      agent = new Agent({ keepAlive: true })
      for (const sockets of Object.values(before.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
      before.maxFreeSockets = 0
      server.closeIdleConnections()
    },
    async stop() {
      clearInterval(asking)
      agent.destroy()
      await close(server)
    },
  }
}

type Target = { node: string; agent: Agent; body: Buffer }

/** Resolves with false when the node took no connection, so that another one may have the request. */
function pass({ node, agent, body }: Target, incoming: IncomingMessage, outgoing: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    const { method = '', headers, url = '/' } = incoming
    const call = request(new URL(url, node), { method, headers, agent }, (reply) => {
      outgoing.writeHead(reply.statusCode!, reply.headers)
      reply.on('error', () => outgoing.destroy())
      reply.pipe(outgoing)
      resolve(true)
    })
    call.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') return resolve(false)
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end()
      resolve(true)
    })
    outgoing.on('close', () => call.destroy())
    call.end(body)
  })
}

async function isReady(node: string): Promise<boolean> {
  const signal = AbortSignal.timeout(HEALTH_LIMIT_MS)
  return fetch(`${node}/readyz`, { signal })
    .then(async (response) => {
      await response.arrayBuffer()
      return response.ok
    })
    .catch(() => false)
}
