import { type Health, STATES, unreadyReason } from '../health.ts'
import { declareMetrics, type Metrics } from '../platform/metrics/metrics.ts'

export const healthMetrics = declareMetrics((metrics) => ({
  ready: metrics.gauge({
    name: 'kinora_node_ready',
    help: '1 while /readyz of every process of the node is 200, else 0.',
    merge: 'min',
  }),
  state: metrics.gauge({
    name: 'kinora_node_state',
    help: '1 for the state in which a process of the node finds its database and its storage, as /readyz names it, else 0.',
    labels: ['part', 'state'],
    merge: 'max',
  }),
}))

/** Reports what `/readyz` of this process says. */
export function measureHealth(
  metrics: Metrics,
  { check, isStopping }: { check: () => Promise<Health>; isStopping: () => boolean },
): void {
  const { ready, state } = healthMetrics(metrics)
  metrics.beforeRead(async () => {
    const found = await check()
    ready.of().set(unreadyReason(found, { stopping: isStopping() }) === null ? 1 : 0)
    for (const part of ['database', 'storage'] as const)
      for (const each of STATES[part]) state.of(part, each).set(found[part] === each ? 1 : 0)
  })
}
