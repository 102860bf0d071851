import { cpuOf, cpuOfTree } from './cpu.ts'
import type { BenchService } from './service.ts'

/** CPU time in microseconds of the service's Node process, and of its PostgreSQL with all backends. */
export type Spent = { node: number; postgres: number }

/** What the service spends while `work` runs. */
export async function spentOn<Result>(
  service: Pick<BenchService, 'pid' | 'postgres_pid'>,
  work: () => Promise<Result>,
): Promise<{ result: Result; spent: Spent }> {
  const before = { node: cpuOf(service.pid), postgres: cpuOfTree(service.postgres_pid) }
  const result = await work()
  const node = cpuOf(service.pid) - before.node
  return { result, spent: { node, postgres: cpuOfTree(service.postgres_pid) - before.postgres } }
}

/** `node + postgres` for each of `count` pieces of work, for people. */
export function perPiece({ node, postgres }: Spent, count: number): string {
  return `${Math.round(node / count)} + ${Math.round(postgres / count)} µs CPU (Node + PostgreSQL)`
}
