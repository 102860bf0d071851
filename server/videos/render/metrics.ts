import type { LiveContext } from '../../context.ts'
import { declareMetrics } from '../../platform/metrics/metrics.ts'
import { refreshGauges } from '../../platform/metrics/refresh.ts'
import { countRendersOfEngines } from './store.ts'

export const renderMetrics = declareMetrics((metrics) => ({
  renders: metrics.gauge({
    name: 'kinora_engine_renders',
    help: 'Renders that an engine has, or may have, of a model that lists several engines.',
    labels: ['engine', 'model'],
    merge: 'max',
  }),
  most: metrics.gauge({
    name: 'kinora_engine_renders_max',
    help: 'How many renders of a model an engine may have at a time, where max_renders says so.',
    labels: ['engine', 'model'],
    merge: 'max',
  }),
}))

/** Reports the renders of each engine of the configuration that has a name. */
export function measureRenders(ctx: LiveContext): void {
  const { renders, most } = renderMetrics(ctx.metrics)
  const clear = () => {
    renders.clear()
    most.clear()
  }
  refreshGauges(ctx.metrics, {
    read: () => countRendersOfEngines(ctx.db),
    set(counts) {
      clear()
      for (const [model, { members }] of ctx.engines.video)
        for (const { id, renders_max } of members) {
          if (id === null) continue
          const found = counts.find((each) => each.model === model && each.engine === id)
          renders.of(id, model).set(found?.count ?? 0)
          if (renders_max !== null) most.of(id, model).set(renders_max)
        }
    },
    unknown: clear,
  })
}
