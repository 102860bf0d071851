import type pg from 'pg'

/** What pg does not declare: the connection of a client, and the messages it receives. */
type WithConnection = pg.PoolClient & {
  connection: {
    stream: { destroy(): void }
    on(event: 'errorMessage', listener: (message: { code?: string }) => void): void
  }
}

/** How a statement begins that may take as long as it takes. */
const LONG = /^-- takes long\n/
const CHECK_MILLISECONDS = 1000

/**
 * Closes connections that are of no use any more, so that whoever waits on one gets an error as of a database that is down, and the pool
 * makes another. They are those whose statement was not answered within `statement_seconds`, since a network may swallow packets without
 * a word; and, once one statement was refused because the server is read-only, all there are: the primary may be another one by now.
 */
export function watchConnections(
  pool: pg.Pool,
  { statement_seconds }: { statement_seconds: number | null },
): { watch(client: pg.PoolClient): void; close(): void } {
  /**
   * `checks`: how many there were since the statement under way was sent; null when there is none, or one that may take long. Checks and not
   * time, since a check that is late because this process was blocked counts once, and before the next one what was answered is read.
   */
  const clients = new Map<WithConnection, { checks: number | null; busy: boolean; stale: boolean }>()

  const expire = () => {
    // The first may come at once after a statement was sent.
    const most = (statement_seconds! * 1000) / CHECK_MILLISECONDS + 1
    for (const [client, state] of clients) if (state.checks !== null && ++state.checks >= most) close(client)
  }
  const timer = statement_seconds === null ? null : setInterval(expire, CHECK_MILLISECONDS).unref()

  const replaceAll = () => {
    for (const [client, state] of clients) {
      state.stale = true
      // One that is in use is closed when it comes back: its error must arrive first.
      if (!state.busy) close(client)
    }
  }
  pool.on('acquire', (client) => {
    const state = clients.get(client as WithConnection)
    if (state) state.busy = true
  })
  pool.on('release', (_, client) => {
    const state = clients.get(client as WithConnection)
    if (!state) return
    state.busy = false
    if (state.stale) close(client as WithConnection)
  })

  return {
    watch(given) {
      const client = given as WithConnection
      const state = { checks: null as number | null, busy: true, stale: false }
      clients.set(client, state)
      client.once('end', () => clients.delete(client))
      client.on('drain', () => {
        state.checks = null
      })
      client.connection.on('errorMessage', ({ code }) => {
        if (code === '25006') replaceAll()
      })
      const query = client.query.bind(client) as (...args: unknown[]) => unknown
      client.query = ((text: unknown, ...rest: unknown[]) => {
        const isLong = typeof text === 'string' && LONG.test(text)
        state.checks = isLong ? null : 0
        return query(text, ...rest)
      }) as typeof client.query
    },
    close() {
      if (timer) clearInterval(timer)
    },
  }
}

function close({ connection }: WithConnection): void {
  connection.stream.destroy()
}
