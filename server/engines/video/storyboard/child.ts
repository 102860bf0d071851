import { serveTask } from '../../../media/children/serve.ts'
import { composeTimeline, type Script } from './compose.ts'

/** The drawings of one render: `dir` holds the inputs and takes the drawings. The answer is a `Timeline`. */
export type DrawTask = { script: Script; dir: string }

if (process.send) serveTask<DrawTask>(({ script, dir }) => composeTimeline(script, dir))
