import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A stretch of network between a service and its PostgreSQL that can be damaged. */
export type PostgresProxy = {
  /** The database through the proxy. */
  url: string
  /** Ends every connection and refuses new ones, until `mend`. */
  cut(): void
  /** What the database says on the connections there are now is lost; what it is sent still arrives. */
  deafen(): void
  /** Packets of every connection, in both directions and of new ones too, wait until `mend`, as when a network swallows them. */
  stall(): void
  mend(): void
  /** Connections refused so far. */
  refused(): number
  close(): Promise<void>
}

function pauseOf({ near, far }: { near: Socket; far: Socket }): void {
  near.pause()
  far.pause()
}

export async function postgresProxy(database_url: string): Promise<PostgresProxy> {
  const given = new URL(database_url)
  const dir = given.searchParams.get('host')
  const port = Number(given.searchParams.get('port') ?? (given.port || 5432))
  const target = () => (dir?.startsWith('/') ? connect(`${dir}/.s.PGSQL.${port}`) : connect(port, given.hostname))
  const links = new Set<{ near: Socket; far: Socket; deaf: boolean }>()
  let whole = true
  let stalled = false
  let refused = 0
  const server = createServer((near) => {
    if (!whole) {
      refused += 1
      return void near.destroy()
    }
    const link = { near, far: target(), deaf: false }
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(database_url)
  for (const name of ['host', 'port']) url.searchParams.delete(name)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const cutAll = () => {
    for (const { near, far } of links) {
      near.destroy()
      far.destroy()
    }
  }
  return {
    url: url.href,
    cut() {
      whole = false
      cutAll()
    },
    deafen() {
      for (const link of links) link.deaf = true
    },
    stall() {
      stalled = true
      for (const link of links) pauseOf(link)
    },
    mend() {
      whole = true
      stalled = false
      for (const { near, far } of links) {
        near.resume()
        far.resume()
      }
    },
    refused: () => refused,
    close() {
      cutAll()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
