import { test } from 'node:test'
import { killAtEach } from './kill-at-each.ts'
import { OUTSIDE } from './outside-engines.ts'

const POINTS = ['attempt_written:1', 'engine_started:1', 'engine_started:3']

// What an adapter decides is a start. `kill-render` kills the engine that this leaves out at many more points.
for (const { name, engine, finds } of OUTSIDE.filter(({ name }) => name !== 'videos-api openai')) {
  const often = finds ? 'once' : 'at most twice'
  test(`${name}, killed at ${POINTS.length} points of a start: every job ends, is charged once if it completed, and rendered ${often}`, () =>
    killAtEach(POINTS, { engine, renders_max: finds ? 1 : 2 }))
}
