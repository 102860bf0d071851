import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outputSize, type SizedInput } from './aspect.ts'

function input(role: SizedInput['role'], width: number | null, height: number | null): SizedInput {
  const kind = role === 'reference_audio' ? 'audio' : role === 'reference_video' ? 'video' : 'image'
  return { role, probe: { kind, width, height, duration_seconds: null, video_codec: null, audio_codec: null } }
}

test('every named ratio is 768p with even edges, whatever the inputs are', () => {
  const expected = {
    '21:9': [1792, 768],
    '16:9': [1366, 768],
    '4:3': [1024, 768],
    '1:1': [768, 768],
    '3:4': [768, 1024],
    '9:16': [768, 1366],
  } as const
  for (const [ratio, [width, height]] of Object.entries(expected)) {
    assert.deepEqual(outputSize(ratio as keyof typeof expected, [input('first_frame', 100, 300)]), { width, height })
  }
})

test('Auto without pictures is 16:9', () => {
  assert.deepEqual(outputSize('Auto', []), { width: 1366, height: 768 })
  assert.deepEqual(outputSize('Auto', [input('reference_audio', null, null)]), { width: 1366, height: 768 })
})

test('Auto follows the first frame, then the last frame, then the first image, then the first clip', () => {
  const clip = input('reference_video', 1000, 1000)
  const image = input('reference_image', 2000, 1000)
  const last = input('last_frame', 1000, 2000)
  const first = input('first_frame', 1500, 1000)
  assert.deepEqual(outputSize('Auto', [clip]), { width: 768, height: 768 })
  assert.deepEqual(outputSize('Auto', [clip, image, input('reference_image', 1, 1)]), { width: 1536, height: 768 })
  assert.deepEqual(outputSize('Auto', [last]), { width: 768, height: 1536 })
  assert.deepEqual(outputSize('Auto', [last, first]), { width: 1152, height: 768 })
})

test('Auto clamps extreme ratios to 0.4 and 2.5', () => {
  assert.deepEqual(outputSize('Auto', [input('first_frame', 10_000, 100)]), { width: 1920, height: 768 })
  assert.deepEqual(outputSize('Auto', [input('first_frame', 100, 10_000)]), { width: 768, height: 1920 })
})
