import { findAuditState } from '../billing/audit-state.ts'
import type { Db } from '../platform/db/db.ts'
import { declareMetrics, type Metrics } from '../platform/metrics/metrics.ts'
import { refreshGauges } from '../platform/metrics/refresh.ts'
import { STOPPING } from './audit.ts'

export const auditMetrics = declareMetrics((metrics) => ({
  broken: metrics.gauge({
    name: 'kinora_audit_broken',
    help: '1 when the last audit found this invariant of the accounts broken, else 0. Any 1 stops new video jobs.',
    labels: ['invariant'],
    merge: 'max',
  }),
  last_run: metrics.gauge({
    name: 'kinora_audit_last_run_timestamp_seconds',
    help: 'When the last audit ran, in Unix seconds.',
    merge: 'max',
  }),
}))

/** Reports the last audit, whichever process ran it. Nothing is reported before the first one. */
export function measureAudit(metrics: Metrics, db: Db): void {
  const { broken, last_run } = auditMetrics(metrics)
  refreshGauges(metrics, {
    read: () => findAuditState(db),
    set(state) {
      if (!state) return
      last_run.of().set(state.checked_at.getTime() / 1000)
      for (const invariant of STOPPING) broken.of(invariant).set(state.broken.includes(invariant) ? 1 : 0)
    },
    unknown() {
      broken.clear()
      last_run.clear()
    },
  })
}
