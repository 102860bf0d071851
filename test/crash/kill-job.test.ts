import { test } from 'node:test'
import { killAtEach } from './kill-at-each.ts'

// A kill before a transaction leaves what one within it leaves; `in-process` throws at both.
const POINTS = [
  ...['key_reserved:2', 'within_create:2', 'after_create:2'],
  ...['within_translating:2', 'after_translating:3', 'within_queued:2', 'after_queued:1'],
  ...['within_failed:1', 'after_failed:1'],
  ...['attempt_written:3', 'engine_started:3'],
  ...['within_in_progress:2', 'after_in_progress:1', 'output_staged:1', 'output_published:2'],
  ...['within_group_moved:3', 'within_group_settled:2', 'within_completed:1', 'after_completed:1'],
  ...['thumbnail_published:1', 'variants_saved:1'],
]

test(`killed at ${POINTS.length} points of a job: every job ends, is charged once if it completed, and rendered once`, () =>
  killAtEach(POINTS))
