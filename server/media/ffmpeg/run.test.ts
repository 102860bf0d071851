import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { CHILDREN_DEFAULT, enterChild, limitChildren } from '../children/concurrency-limit.ts'
import { runFfmpeg } from './run.ts'

const TONE = '-f lavfi -i sine=d=0.2 tone.wav'.split(' ')

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-ffmpeg-'))
})
after(() => rm(dir, { recursive: true, force: true }))
afterEach(() => limitChildren(CHILDREN_DEFAULT))

/** Runs FFmpeg as WebAssembly and returns the id of the child that did it. */
async function run(
  args: readonly string[],
  { signal, progress }: { signal?: AbortSignal; progress?: () => void } = {},
) {
  let child = 0
  const outputs = { 'tone.wav': join(dir, 'tone.wav') }
  await runFfmpeg(
    { inputs: {}, args, outputs, duration_seconds: 1 },
    {
      runner: { kind: 'wasm' },
      time_limit_seconds: 60,
      signal,
      work_dir: dir,
      on_start: (pid) => {
        child = pid
      },
      on_progress: progress,
    },
  )
  return child
}

test('runs that follow each other share a child, and none sees the files of an earlier one', async () => {
  const first = await run(TONE)
  assert.equal(await run(TONE), first)
  const bytes = await readFile(join(dir, 'tone.wav'))
  await assert.rejects(run(['-i', 'tone.wav', '-f', 'wav', 'tone.wav']), { fault: 'failed' })
  assert.notEqual(await run(TONE), first, 'a child in which a run has failed is not used again')
  assert.deepEqual(await readFile(join(dir, 'tone.wav')), bytes)
})

test('a child whose run was given up is gone when the caller is told', {
  skip: !existsSync('/proc/self'),
}, async () => {
  const left = new AbortController()
  const child = await run(TONE)
  const endless = run('-f lavfi -i sine=d=36000 tone.wav'.split(' '), {
    signal: left.signal,
    progress: () => left.abort(new Error('left')),
  })
  await assert.rejects(endless, { message: 'left' })
  assert.ok(!existsSync(`/proc/${child}`))
  assert.notEqual(await run(TONE), child)
})

test('a child that waits is ended for one of another kind, so that no more processes exist than the limit allows', {
  skip: !existsSync('/proc/self'),
}, async () => {
  limitChildren(2)
  const waiting = await run(TONE)
  const leave = await enterChild('document')
  const { renderPdf } = await import('../pdf/render.ts')
  await renderPdf(Buffer.from('no document')).catch(() => undefined)
  leave()
  assert.notEqual(await run(TONE), waiting)
})
