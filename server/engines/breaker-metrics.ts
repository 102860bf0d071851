import { declareMetrics, type Metrics } from '../platform/metrics/metrics.ts'
import type { Engines } from './registry.ts'
import { isLeftOut } from './upstream-health.ts'

export const breakerMetrics = declareMetrics((metrics) => ({
  open: metrics.gauge({
    name: 'kinora_engine_breaker_open',
    help: '1 while one of several servers or engines of a model is left out, until a call has worked again.',
    labels: ['family', 'engine', 'model', 'endpoint'],
    merge: 'max',
  }),
}))

/** Reports the circuit breakers of this process, of the engines that are configured when they are read. */
export function measureBreakers(live: { readonly engines: Engines; metrics: Metrics }): void {
  const { open } = breakerMetrics(live.metrics)
  live.metrics.beforeRead(() => {
    open.clear()
    const { chat, video } = live.engines
    for (const [model, { engine, name }] of chat) {
      const servers = engine.breakers?.() ?? []
      if (servers.length === 1) continue
      for (const [i, server] of servers.entries())
        open.of('chat', name, model, String(i + 1)).set(isLeftOut(server) ? 1 : 0)
    }
    for (const [model, pool] of video)
      for (const member of pool.members)
        if (member.id !== null) open.of('video', member.id, model, '').set(isLeftOut(pool.breakerOf(member)!) ? 1 : 0)
  })
}
