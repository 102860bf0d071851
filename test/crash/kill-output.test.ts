import { test } from 'node:test'
import { killAtEach } from './kill-at-each.ts'

const POINTS = ['output_judged:1', 'output_published:1', 'within_completed:1']
const MODERATION = '{ engine: { kind: openai-moderations, base_url: "{engines}" }, output: true }'

test(`killed at ${POINTS.length} points around judging a clip: every job ends, is charged once if it completed, and rendered once`, () =>
  // A clip is decoded to be judged, which costs seconds.
  killAtEach(POINTS, { moderation: MODERATION, jobs: 2 }))
