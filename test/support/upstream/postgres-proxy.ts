import { connect, createServer, type Socket } from 'node:net'
import { listen } from '../listen.ts'

type Link = { near: Socket; far: Socket; deaf: boolean }

export type PostgresProxy = Awaited<ReturnType<typeof postgresProxy>>

/** A stretch of network between a service and its PostgreSQL that can be damaged. */
export async function postgresProxy(database_url: string) {
  const given = new URL(database_url)
  const dir = given.searchParams.get('host')
  const port = Number(given.searchParams.get('port') ?? (given.port || 5432))
  const target = () => (dir?.startsWith('/') ? connect(`${dir}/.s.PGSQL.${port}`) : connect(port, given.hostname))
  const links = new Set<Link>()
  let whole = true
  let stalled = false
  let refused = 0
  const server = createServer((near) => {
    if (!whole) {
      refused += 1
      return void near.destroy()
    }
    const link: Link = { near, far: target(), deaf: false }
    const end = () => {
      near.destroy()
      link.far.destroy()
      links.delete(link)
    }
    links.add(link)
    near.on('data', (bytes) => link.far.write(bytes))
    link.far.on('data', (bytes) => void (link.deaf || near.write(bytes)))
    if (stalled) pauseOf(link)
    for (const socket of [near, link.far]) socket.on('error', end).on('close', end)
  })
  const url = new URL(database_url)
  for (const name of ['host', 'port']) url.searchParams.delete(name)
  url.host = `127.0.0.1:${await listen(server)}`
  const cutAll = () => {
    for (const { near, far } of links) {
      near.destroy()
      far.destroy()
    }
  }
  return {
    /** The database through the proxy. */
    url: url.href,
    /** Ends every connection and refuses new ones, until `restore`. */
    cut() {
      whole = false
      cutAll()
    },
    /** What the database says on the connections there are now is lost; what it is sent still arrives. */
    deafen() {
      for (const link of links) link.deaf = true
    },
    /** Packets of every connection, in both directions and of new ones too, wait until `restore`, as when a network swallows them. */
    stall() {
      stalled = true
      for (const link of links) pauseOf(link)
    },
    restore() {
      whole = true
      stalled = false
      for (const { near, far } of links) {
        near.resume()
        far.resume()
      }
    },
    /** Connections refused so far. */
    refused: () => refused,
    async close() {
      cutAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function pauseOf({ near, far }: Link): void {
  near.pause()
  far.pause()
}
