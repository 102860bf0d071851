import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { storyboardVideo } from '../../server/engines/video/storyboard/adapter.ts'
import { picturesOf, sampleFrames } from '../../server/media/frames/frames.ts'
import { renderPdf } from '../../server/media/pdf/render.ts'
import { repairOutput } from '../../server/media/repair.ts'
import { requestOf } from '../support/data/clip.ts'
import { sampleMedia } from '../support/data/media.ts'
import { samplePdf } from '../support/data/pdf.ts'
import { argumentsOf, childrenOf } from '../support/processes.ts'

/** What a process allows at most where nothing is configured, whatever the machine. */
const CHILDREN_MAX = 3

/** Of the renders, which last as long as the other work. */
const SIZE = { width: 512, height: 512 }

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-children-'))
})
after(() => rm(dir, { recursive: true, force: true }))

test('renders, sampling, repair, pictures and documents share one limit of children, and renders cannot starve the others', {
  skip: process.platform !== 'linux',
}, async () => {
  const { 'silent.mp4': clip } = await sampleMedia(dir, ['silent.mp4'], { seconds: 2 })
  const picture = join(dir, 'frame.jpg')
  const engine = storyboardVideo({ work_dir: join(dir, 'work'), runner: { kind: 'wasm' } })
  const { signal } = new AbortController()
  const tickets = [
    await engine.start(requestOf({ job_id: 'one', seconds: 15, ...SIZE }), signal),
    await engine.start(requestOf({ job_id: 'two', seconds: 15, ...SIZE }), signal),
  ]
  await writeFile(picture, (await sampleFrames(clip, { work_dir: dir }))[0]!)
  let most = 0
  let done = false
  const work = Promise.all([
    ...Array.from({ length: 2 }, () => sampleFrames(clip, { work_dir: dir })),
    ...Array.from({ length: 2 }, () => picturesOf(picture)),
    ...Array.from({ length: 2 }, () => renderPdf(samplePdf())),
    repairOutput(clip, { width: 768, height: 768 }, { work_dir: dir }),
  ]).finally(() => {
    done = true
  })
  while (!done) {
    most = Math.max(most, childrenOf(process.pid).filter((pid) => !isProbe(pid)).length)
    await pause(5)
  }
  await work
  assert.ok(most >= 2 && most <= CHILDREN_MAX, `${most} children at once`)
  for (const ticket of tickets) await engine.cancel(ticket)
  await engine.close?.()
})

/** Probes read headers, and have a limit of their own. */
function isProbe(pid: number): boolean {
  return argumentsOf(pid).some((each) => /probe\/child\.ts$/.test(each))
}
