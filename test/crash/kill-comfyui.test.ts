import { test } from 'node:test'
import { workflowOf } from '../engines/video/comfyui/workflows.ts'
import { killAtEach } from './kill-at-each.ts'

const POINTS = ['attempt_written:1', 'engine_started:1', 'engine_started:3', 'before_in_progress:1', 'output_staged:1']
const workflows = JSON.stringify({ text: workflowOf() })

test(`killed at ${POINTS.length} points of a render in ComfyUI: every job ends, is charged once if it completed, and rendered once`, () =>
  killAtEach(POINTS, { engine: `{ kind: comfyui, base_url: "{engines}", workflows: ${workflows} }` }))
