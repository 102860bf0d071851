import { type App, openApp } from '../app.ts'
import { openAppMetrics } from '../assembly/metrics.ts'
import { grantCredits, openAccount } from '../billing/ledger.ts'
import type { Config } from '../config/config.ts'
import { openStorage } from '../files/open-blobs.ts'
import {
  draftFirstRun,
  ensureFirstRun,
  type FirstRun,
  publishFirstRun,
  settleFirstRun,
} from '../identity/people/first-run.ts'
import { storageMeasurer } from '../platform/blobs/metrics.ts'
import type { Log } from '../platform/log.ts'

/** What each process of one service is started with. */
export type Boot = {
  config: Config
  database_url: string
  secret: string
  blobs_dir: string
  work_dir: string
  node_id: string
}

/** Opens the service over the database and files that `boot` names. `signal` ends a start that waits for the database. */
export async function openService(
  boot: Boot,
  log: Log,
  { background, signal }: { background: 'sole' | 'shared' | 'none'; signal?: AbortSignal },
): Promise<App> {
  const { config, database_url, secret, blobs_dir, work_dir, node_id } = boot
  const metrics = openAppMetrics()
  const measure = storageMeasurer(metrics)
  const blobs = openStorage(config.storage, { blobs_dir, proxied: config.content_delivery === 'x-accel', measure })
  return openApp({ config, log, database_url, blobs, metrics, secret, work_dir, node_id, background, signal })
}

/** Call it once the port is taken: a first run that is never printed would leave an owner without a password. */
export async function makeFirstRun(
  { ctx: { db, clock, site } }: App,
  config: Config,
  data_dir: string,
): Promise<FirstRun | null> {
  await settleFirstRun(db, data_dir)
  const keep = (run: FirstRun) => draftFirstRun(data_dir, { base_url: site.public_url, ...run })
  const first_run = await ensureFirstRun({ db, config, clock, openAccount, grantCredits, keep })
  if (first_run) publishFirstRun(data_dir)
  return first_run
}
