import { test } from 'node:test'
import { killAtEach } from './kill-at-each.ts'

const POINTS = [
  ...['attempt_written:1', 'attempt_written:3', 'engine_started:1', 'engine_started:3'],
  ...['before_in_progress:1', 'within_in_progress:2', 'after_in_progress:1'],
  ...['output_staged:1', 'output_published:2'],
  ...['within_group_moved:3', 'within_group_settled:2'],
  ...['before_completed:1', 'within_completed:1', 'after_completed:1'],
  ...['thumbnail_published:1', 'variants_saved:1'],
]

test(`killed at ${POINTS.length} points of the render: every job ends, is charged once if it completed, and rendered once`, () =>
  killAtEach(POINTS))
