import { withoutSmallDisk } from '../small-disk.ts'
import type { Way } from './way.ts'

/** What needs no file. */
const WITHOUT_FILES = ['response', 'chat', 'stream'] as const

/** Requests that need the bucket are 503. */
const AWAY: Way['expects'] = {
  a: /storage away/,
  b: /storage away/,
  goes_on: WITHOUT_FILES,
  alerts: ['KinoraStorageAway'],
  perhaps: ['KinoraServerErrors'],
}

/** What happens to the bucket, and to the disk of a node. */
export const storage: readonly Way[] = [
  {
    name: 'bucket-stopped',
    what: 'The bucket takes no connections',
    seconds: { long: 20, short: 3 },
    break: ({ network }) => network.bucket.cut(),
    repair: ({ network }) => network.bucket.restore(),
    expects: AWAY,
  },
  {
    name: 'bucket-hangs',
    what: 'The bucket takes connections and answers nothing',
    seconds: { long: 40, short: null },
    break: ({ network }) => network.bucket.stall(),
    repair: ({ network }) => network.bucket.restore(),
    expects: AWAY,
  },
  {
    name: 'bucket-slow',
    what: 'The bucket answers half a second later',
    seconds: { long: 20, short: null },
    break: ({ network }) => network.bucket.slow(500),
    repair: ({ network }) => network.bucket.restore(),
    expects: { goes_on: ['job', ...WITHOUT_FILES], unnoticed: true },
  },
  {
    name: 'node-disk-full',
    what: 'The disk of a node is full',
    seconds: { long: 20, short: null },
    missing: withoutSmallDisk,
    break: ({ disks }) => disks!.a.fill(),
    repair: ({ disks }) => disks!.a.free(),
    expects: { a: /^storage full/, goes_on: ['job', ...WITHOUT_FILES], alerts: ['KinoraNodeUnready'] },
  },
]
