import { type App, openApp } from '../app.ts'
import type { Config } from '../config/config.ts'
import { diskBlobs } from '../platform/blobs/disk.ts'
import { systemClock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'

/** What each process of one service is started with. */
export type Boot = { config: Config; database_url: string; secret: string; blobs_dir: string; work_dir: string }

/** Opens the service over the database and files that `boot` names. */
export async function openService(boot: Boot, log: Log, background: 'sole' | 'shared' | 'none'): Promise<App> {
  const { config, database_url, secret, blobs_dir, work_dir } = boot
  const blobs = diskBlobs(blobs_dir)
  return openApp({ config, clock: systemClock, log, database_url, blobs, secret, work_dir, background })
}
