import type pg from 'pg'

type Shared = { client: Promise<pg.PoolClient>; holders: number; released: boolean }

/**
 * The pool, whose `connect` gives everybody the same connection for as long as anybody has it: for holders of advisory locks, who would
 * otherwise keep a connection each while their work needs others. Whoever releases it with an error closes it for all, with their locks.
 */
export function onOneConnection(pool: pg.Pool): pg.Pool {
  let shared: Shared | null = null

  async function connect(): Promise<Pick<pg.PoolClient, 'query' | 'release'>> {
    shared ??= { client: pool.connect(), holders: 0, released: false }
    const held = shared
    held.holders += 1
    try {
      const client = await held.client
      return { query: client.query.bind(client), release: (error) => release(held, error) }
    } catch (error) {
      release(held, error as Error)
      throw error
    }
  }

  function release(held: Shared, error?: Error | boolean): void {
    held.holders -= 1
    if (held.released || (held.holders > 0 && !error)) return
    held.released = true
    if (shared === held) shared = null
    void held.client.then(
      (client) => client.release(error),
      () => {},
    )
  }

  return { connect, query: pool.query.bind(pool) } as unknown as pg.Pool
}
