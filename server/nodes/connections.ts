import type { ConnectionLimits } from './store.ts'

/** Beside its pool a process has one connection that listens. */
const LISTENING = 1
/** With fewer connections in each pool nothing works. */
const POOL_LEAST = 2
/** Of a node: the one that holds the database. */
const HOLDING = 1

/** Processes of a node: with one worker that one does everything, with several the first one keeps the background work. */
export function processesOf(workers: number): number {
  return workers === 1 ? 1 : workers + 1
}

/** Most connections that a node opens. `pool`: of each process. */
export function connectionsOf({ workers, pool }: { workers: number; pool: number }): number {
  return processesOf(workers) * (pool + LISTENING) + HOLDING
}

/** How the connections of the nodes compare with what the server allows, in words for the log. */
export type Connections = { outcome: 'enough' | 'scarce' | 'impossible'; detail: string }

/** `others`: most that each of the other nodes opens. */
export function compareConnections(
  node: { workers: number; pool: number },
  { max, reserved }: ConnectionLimits,
  others: readonly number[],
): Connections {
  const own = connectionsOf(node)
  const theirs = others.reduce((sum, each) => sum + each, 0)
  const usable = max - reserved
  const processes = processesOf(node.workers)
  const detail =
    `This node opens at most ${own} connections to the database (${processes} ${processes === 1 ? 'process' : 'processes'} with ` +
    `${node.pool} in the pool and 1 that listens, and 1 that holds the database); ` +
    `${others.length === 0 ? 'no other node runs' : `${others.length} other nodes open at most ${theirs}`}; ` +
    `PostgreSQL allows ${usable} (max_connections ${max}, ${reserved} of them reserved).`
  if (own + theirs <= usable) return { outcome: 'enough', detail }
  const remedy = 'Lower database.pool or workers, or raise max_connections of your PostgreSQL.'
  const least = connectionsOf({ workers: node.workers, pool: POOL_LEAST })
  if (least > usable) return { outcome: 'impossible', detail: `${detail} ${remedy}` }
  return { outcome: 'scarce', detail: `${detail} Under load some requests would get 503. ${remedy}` }
}
