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

/** The share of one of `count` pieces of work. */
export function spentEach({ node, postgres }: Spent, count: number): Spent {
  return { node: node / count, postgres: postgres / count }
}

export function totalOf({ node, postgres }: Spent): number {
  return node + postgres
}
