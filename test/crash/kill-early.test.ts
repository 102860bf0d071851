import { test } from 'node:test'
import { killAtEach } from './kill-at-each.ts'

const POINTS = [
  ...['key_reserved:2', 'within_create:2', 'after_create:2'],
  ...['before_translating:1', 'within_translating:2', 'after_translating:3'],
  ...['before_queued:1', 'within_queued:2', 'after_queued:1'],
  ...['before_failed:1', 'within_failed:1', 'after_failed:1'],
]

test(`killed at ${POINTS.length} points up to the render: every job ends, is charged once if it completed, and rendered once`, () =>
  killAtEach(POINTS))
