import { test } from 'node:test'
import { killAtEach } from './kill-at-each.ts'
import { modelOf, modelsOf, OUTSIDE } from './outside-engines.ts'

/** By then the engine has one start that nothing recorded, and other jobs have only written that they will start. */
const POINT = 'engine_started:2'
/** More, so that some jobs are cut once only. */
const POINTS_WITHOUT_FINDING = ['attempt_written:1', 'engine_started:1', 'engine_started:3']

// What an adapter decides is a start. `kill-job` kills the engine that this leaves out at many more points.
const engines = OUTSIDE.filter(({ finds, name }) => finds && name !== 'videos-api openai')
test(`${engines.length} engines, each killed at a start: every job ends, is charged once if it completed, and rendered once`, () =>
  killAtEach([POINT], { models: modelsOf(engines) }))

// On a site of its own: a job of another engine that is killed meanwhile would have its start cut twice.
for (const outside of OUTSIDE.filter(({ finds }) => !finds)) {
  test(`${outside.name}, killed at ${POINTS_WITHOUT_FINDING.length} points of a start: every job ends, is charged once if it completed, and rendered at most twice`, () =>
    killAtEach(POINTS_WITHOUT_FINDING, { models: modelsOf([outside]), repeats: new Set([modelOf(outside)]) }))
}
