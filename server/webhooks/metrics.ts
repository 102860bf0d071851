import { declareMetrics } from '../platform/metrics/metrics.ts'

export const webhookMetrics = declareMetrics((metrics) => ({
  attempts: metrics.counter({
    name: 'kinora_webhook_attempts_total',
    help: 'Attempts to send an event, by what came of them: delivered, or why not.',
    labels: ['outcome'],
  }),
  disabled: metrics.counter({
    name: 'kinora_webhook_endpoints_disabled_total',
    help: 'Endpoints that were disabled because they answered 410 (gone) or failed for five days (failing).',
    labels: ['reason'],
  }),
}))
