import type pg from 'pg'

type Shared = { client: Promise<pg.PoolClient>; holders: number; released: boolean; last: Promise<unknown> }

/**
 * The pool, whose `connect` gives everybody the same connection for as long as anybody has it: for holders of advisory locks, who would
 * otherwise keep a connection each while their work needs others. Whoever releases it with an error closes it for all, with their locks.
 */
export function onOneConnection(pool: pg.Pool): pg.Pool {
  let shared: Shared | null = null

  async function connect(): Promise<pg.PoolClient> {
    shared ??= { client: pool.connect(), holders: 0, released: false, last: Promise.resolve() }
    const held = shared
    held.holders += 1
    try {
      const client = await held.client
      // One after another: the driver is to be given no query while another runs.
      const query = (...given: unknown[]) => {
        const answer = held.last.then(() => (client.query as (...given: unknown[]) => Promise<unknown>)(...given))
        held.last = answer.catch(() => {})
        return answer
      }
      return { query, release: (error?: Error | boolean) => release(held, error) } as unknown as pg.PoolClient
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
