import { test } from 'node:test'
import { HOSTED } from './hosted.ts'
import { killAtEach } from './kill-at-each.ts'

const POINTS = ['attempt_written:1', 'engine_started:1', 'engine_started:3', 'before_in_progress:1', 'output_staged:1']

for (const { name, engine, lists } of HOSTED) {
  const renders_max = lists ? 1 : 2
  test(`${name}, killed at ${POINTS.length} points of a render: every job ends, is charged once if it completed, and rendered at most ${renders_max === 1 ? 'once' : 'twice'}`, () =>
    killAtEach(POINTS, { engine, renders_max }))
}
