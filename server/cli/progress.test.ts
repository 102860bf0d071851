import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openProgress } from './progress.ts'
import { formatBytes, formatSeconds } from './units.ts'

test('without a terminal there is one plain line for each status and each ten percent', () => {
  const screen = recorder(false)
  const progress = openProgress(screen, {})
  for (const [status, percent] of [
    ['moderating', 0],
    ['moderating', 0],
    ['in_progress', 3],
    ['in_progress', 9],
    ['in_progress', 41],
    ['completed', 100],
  ] as const) {
    progress.show(status, percent)
  }
  progress.done()
  assert.equal(screen.text, '  moderating\n  in_progress 0 %\n  in_progress 40 %\n  completed\n')
})

test('on a terminal a bar moves on one line and every finished status stays with its mark', () => {
  const screen = recorder(true)
  const progress = openProgress(screen, { NO_COLOR: '1' })
  progress.show('queued', 0)
  progress.show('in_progress', 50)
  progress.show('failed', 50)
  progress.done()
  assert.match(screen.text, /\r\x1b\[2K {2}✓ queued +0\.0 s\n/)
  assert.match(screen.text, /in_progress {3}█{12}░{12} {2}50 % /)
  assert.match(screen.text, /✗ failed\n$/)
  assert.equal(screen.text.split('\n').length, 4)
})

test('a dumb terminal gets plain lines', () => {
  const screen = recorder(true)
  openProgress(screen, { TERM: 'dumb' }).show('queued', 0)
  assert.equal(screen.text, '  queued\n')
})

test('durations and sizes are formatted for people', () => {
  assert.deepEqual([0.04, 3.44, 59.94, 65, 3600].map(formatSeconds), [
    '0.0 s',
    '3.4 s',
    '59.9 s',
    '1 min 05 s',
    '60 min 00 s',
  ])
  assert.deepEqual([0, 999, 13_280, 2_100_000, 1_460_000_000].map(formatBytes), [
    ...['0 bytes', '999 bytes', '13.3 kB', '2.1 MB', '1.5 GB'],
  ])
})

function recorder(isTTY: boolean) {
  const screen = { isTTY, text: '', write: (text: string) => (screen.text += text) }
  return screen
}
