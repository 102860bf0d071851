import type { Db } from '../platform/db/db.ts'
import { declareMetrics, type Metrics } from '../platform/metrics/metrics.ts'
import { refreshGauges } from '../platform/metrics/refresh.ts'
import { ATTEMPT_ERRORS } from './attempt.ts'
import { countEndpointsByState } from './store/endpoints.ts'

export const webhookMetrics = declareMetrics((metrics) => ({
  attempts: attemptCounter(metrics),
  disabled: metrics.counter({
    name: 'kinora_webhook_endpoints_disabled_total',
    help: 'Endpoints that were disabled because they answered 410 (gone) or failed for five days (failing).',
    labels: ['reason'],
  }),
  endpoints: metrics.gauge({
    name: 'kinora_webhook_endpoints',
    help: 'Endpoints, by whether the last attempt to send to them worked (working), failed (failing), or they are disabled.',
    labels: ['state'],
    merge: 'max',
  }),
}))

function attemptCounter(metrics: Metrics) {
  const attempts = metrics.counter({
    name: 'kinora_webhook_attempts_total',
    help: 'Attempts to send an event, by what came of them: delivered, or why not.',
    labels: ['outcome'],
  })
  // Reported as 0 before the first one, without which Prometheus sees no increase.
  for (const outcome of ['delivered', ...ATTEMPT_ERRORS] as const) attempts.of(outcome)
  return attempts
}

/** Reports how many endpoints there are. For one process of each node. */
export function measureEndpoints(metrics: Metrics, db: Db): void {
  const { endpoints } = webhookMetrics(metrics)
  refreshGauges(metrics, {
    read: () => countEndpointsByState(db),
    set(counts) {
      for (const [state, count] of Object.entries(counts)) endpoints.of(state).set(count)
    },
    unknown: endpoints.clear,
  })
}
