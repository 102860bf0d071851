import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { preparePicture } from '../../server/engines/video/storyboard/draw.ts'
import { withEngineCopy } from '../../server/media/engine-copy.ts'
import { picturesOf, sampleFrames } from '../../server/media/frames/frames.ts'
import { type Probed, probeMedia, uploadFacts } from '../../server/media/probe/probe.ts'
import { recognizeType } from '../../server/media/probe/recognize.ts'
import { extractSounds, wavSeconds } from '../../server/media/sound.ts'
import { wavHeader } from '../../server/media/wav.ts'
import { requireLength } from '../../server/videos/input-problem.ts'
import { encoded, samplePicture, turnedPhoto, withEdits, withZeroedScan } from '../support/data/media.ts'

const FILES = [
  'clip.mp4',
  'two.mp4',
  'tts.mp3',
  'voice.m4a',
  'long.m4a',
  'voice.webm',
  'brand.mp4',
  'live.webm',
  'live.mp4',
] as const

let dir: string
let files: Record<(typeof FILES)[number], string>
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-engine-copy-'))
  const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 16'
  files = await encoded(
    dir,
    `-f lavfi -i testsrc=s=64x48:r=8:d=8 -f lavfi -i sine=r=44100:d=8 -f lavfi -i sine=r=22050:d=15 -f lavfi -i sine=r=16000:d=15
     -f lavfi -i sine=r=16000:d=200
     -map 0 -map 1 ${x264} -c:a aac clip.mp4
     -map 0 -map 0 -map 1 -map 1 ${x264} -c:a aac two.mp4
     -map 2 -c:a libmp3lame tts.mp3
     -map 3 -c:a aac voice.m4a
     -map 4 -c:a aac long.m4a
     -map 1 -c:a libopus voice.webm
     -map 1 -c:a aac -f mp4 -brand isom brand.mp4
     -map 0 -map 1 -c:v libvpx -deadline realtime -cpu-used 8 -c:a libopus -live 1 live.webm
     -map 0 -map 1 ${x264} -c:a aac -movflags +frag_keyframe+empty_moov live.mp4`,
    FILES,
  )
})
after(() => rmSync(dir, { recursive: true, force: true }))

function save(name: string, bytes: Uint8Array): string {
  const path = join(dir, name)
  writeFileSync(path, bytes)
  return path
}

/** Why a copy of the file is made, and what a probe finds in it. */
async function copied(
  path: string,
  kind: 'video' | 'audio',
): Promise<{ because: string[]; found: Probed; path: string }> {
  const { media_type } = await recognizeType(path)
  const facts = await uploadFacts(path, { media_type, kind })
  const copy = `${path}.copy`
  await withEngineCopy(path, facts, { work_dir: dir }, async (made) => writeFileSync(copy, readFileSync(made)))
  return { because: facts.copy_because, found: await probeMedia(copy, kind), path: copy }
}

const rounded = (found: Probed, kind: 'video' | 'audio') => found.spans[kind].map(({ seconds }) => Math.round(seconds))

test('a sound that goes on far beyond the length it announces is not decoded to its end', async () => {
  const bytes = readFileSync(files['long.m4a'])
  // The clock of its media says how much of a second each sample takes: 16 times as many of them make 200 seconds 12.5.
  const clock = bytes.indexOf('mdhd') + 16
  bytes.writeUInt32BE(bytes.readUInt32BE(clock) * 16, clock)
  await assert.rejects(extractSounds(save('longer.m4a', bytes), 'audio'), {
    fault: 'unreadable',
    message: /far beyond/,
  })
})

test('what an edit list hides behind the end is not in the copy', async () => {
  const { because, found } = await copied(
    save('tail.mp4', withEdits(readFileSync(files['clip.mp4']), { seconds: 3 })),
    'video',
  )
  assert.deepEqual(because, ['hidden_part'])
  assert.deepEqual([rounded(found, 'video'), rounded(found, 'audio')], [[3], [3]])
})

test('of what it hides before the start only the frames since the key frame remain, and they are judged and counted', async () => {
  const edited = withEdits(readFileSync(files['clip.mp4']), { start: 5, seconds: 3 })
  const { because, found, path } = await copied(save('head.mp4', edited), 'video')
  assert.deepEqual(because, ['hidden_part'])
  // The key frames are at 4 and 6 seconds.
  assert.deepEqual([rounded(found, 'video'), rounded(found, 'audio')], [[4], [3]])
  assert.equal((await sampleFrames(path, { work_dir: dir })).length, 4)
})

test('moderation decodes what an edit list hides where no copy was made', async () => {
  const path = save('hidden.mp4', withEdits(readFileSync(files['clip.mp4']), { start: 6, seconds: 2 }))
  assert.equal((await sampleFrames(path, { work_dir: dir })).length, 8)
  const [sound] = await extractSounds(path, 'video', { work_dir: dir })
  assert.ok(wavSeconds(sound!) >= 8, `${wavSeconds(sound!)} s`)
  assert.equal(Math.round((await probeMedia(path, 'video')).spans.video[0]!.seconds), 8)
})

test('a second track of pictures or sound is not in the copy, nor pictures in that of a sound', async () => {
  const { because, found } = await copied(files['two.mp4'], 'video')
  assert.deepEqual(because, ['extra_track'])
  assert.deepEqual([rounded(found, 'video'), rounded(found, 'audio')], [[8], [8]])
  const disguised = readFileSync(files['clip.mp4'])
  disguised.write('M4A ', disguised.indexOf('ftyp') + 4, 'latin1')
  const sound = await copied(save('disguised.m4a', disguised), 'audio')
  assert.deepEqual(sound.because, ['extra_track'])
  assert.deepEqual([rounded(sound.found, 'video'), rounded(sound.found, 'audio')], [[], [8]])
})

test('a sound track that nobody decodes is left out, wherever it is', async () => {
  for (const which of ['first', 'second']) {
    const bytes = readFileSync(files['two.mp4'])
    const at = which === 'first' ? bytes.indexOf('mp4a') : bytes.lastIndexOf('mp4a')
    bytes.write('apac', at, 'latin1')
    bytes.write('dapa', bytes.indexOf('esds', at), 'latin1')
    const { found } = await copied(save(`spatial-${which}.mp4`, bytes), 'video')
    assert.deepEqual([found.spans.audio.length, found.result.audio_codec], [1, 'aac'], which)
  }
})

test('15 seconds are 15 seconds however encoders pad them, and files that hide nothing are sent as they are', async () => {
  for (const name of ['tts.mp3', 'voice.m4a'] as const) {
    const { media_type } = await recognizeType(files[name])
    assert.deepEqual((await uploadFacts(files[name], { media_type, kind: 'audio' })).copy_because, [], name)
    requireLength((await probeMedia(files[name], 'audio')).spans.audio)
  }
  assert.deepEqual((await uploadFacts(files['clip.mp4'], { media_type: 'video/mp4', kind: 'video' })).copy_because, [])
  const wav = { seconds: 15.2, padding_seconds: 0, hidden_seconds: 0 }
  assert.throws(() => requireLength([wav]), /it is 15\.2 s long, and clips and sounds must last 2 to 15 s/)
})

test('a WAV that was written while it was sent is as long as its sound, and engines get it with its true sizes', async () => {
  const rate = 8000
  const sound = Buffer.concat([wavHeader(3 * rate * 2, { rate, channels: 1 }), Buffer.alloc(3 * rate * 2)])
  const whole = await uploadFacts(save('whole.wav', sound), { media_type: 'audio/wav', kind: 'audio' })
  assert.deepEqual(whole.copy_because, [])
  for (const placeholder of [0x7fffffff, 0xffffffff, 2_000_000_000]) {
    const bytes = Buffer.from(sound)
    bytes.writeUInt32LE(placeholder, 4)
    bytes.writeUInt32LE(placeholder, bytes.indexOf('data') + 4)
    const { because, found, path } = await copied(save(`streamed-${placeholder}.wav`, bytes), 'audio')
    assert.deepEqual([because, found.spans.audio[0]!.seconds], [['wrong_size'], 3])
    const copy = readFileSync(path)
    assert.equal(copy.readUInt32LE(copy.indexOf('data') + 4), 3 * rate * 2)
  }
})

test('clips of browsers, recorders and cameras that do not know their length are as long as their frames', async () => {
  const fragmented = readFileSync(files['live.mp4'])
  fragmented.writeUInt32BE(0xffffffff, fragmented.indexOf('mvhd') + 20)
  for (const path of [files['live.webm'], files['live.mp4'], save('camera.mp4', fragmented)]) {
    const { result, media_type } = await probeMedia(path, 'video')
    assert.equal(Math.round(result.duration_seconds!), 8, path)
    const facts = await uploadFacts(path, { media_type, kind: 'video' })
    assert.deepEqual([facts.family, facts.copy_because], ['video', []], path)
  }
})

test('sound without a picture is a sound, whatever the brand of its container', async () => {
  for (const name of ['brand.mp4', 'voice.webm'] as const) {
    const { media_type } = await recognizeType(files[name])
    assert.match(media_type, /^video\//)
    const facts = await uploadFacts(files[name], { media_type, kind: 'audio' })
    assert.deepEqual([facts.family, facts.media_type.split('/')[0], facts.copy_because], ['audio', 'audio', []], name)
  }
})

test('the clip that a phone appends to a photo is not in the copy', async () => {
  const photo = Buffer.from(await samplePicture('jpeg', { width: 64, height: 48 }))
  const motion = save('motion.jpg', Buffer.concat([photo, readFileSync(files['clip.mp4'])]))
  const facts = await uploadFacts(motion, { media_type: 'image/jpeg', kind: 'image' })
  assert.deepEqual(facts.copy_because, ['attached_clip'])
  await withEngineCopy(motion, facts, { work_dir: dir }, async (copy) =>
    assert.ok(!readFileSync(copy).includes('ftyp') && readFileSync(copy).length < 2 * photo.length),
  )
  const plain = await uploadFacts(save('plain.jpg', photo), { media_type: 'image/jpeg', kind: 'image' })
  assert.deepEqual(plain.copy_because, [])
})

test('a JPEG that every viewer shows is decoded by moderation and the storyboard alike', async () => {
  const photo = Buffer.from(await samplePicture('jpeg', { width: 64, height: 48 }))
  for (const [name, bytes] of [
    ['zeroed', withZeroedScan(photo)],
    ['unended', photo.subarray(0, -2)],
  ] as const) {
    const path = save(`${name}.jpg`, bytes)
    assert.equal((await picturesOf(path, { work_dir: dir })).length, 1, name)
    const size = { width: 64, height: 48 }
    await preparePicture(path, { size, uncropped: false, path: join(dir, `${name}.rgb`) })
    assert.equal(readFileSync(join(dir, `${name}.rgb`)).length, 64 * 48 * 3)
  }
})

test('a copy that nobody waits for any more is not finished', async () => {
  const path = save('turned.jpg', await turnedPhoto())
  const left = new AbortController()
  const copy = withEngineCopy(
    path,
    { media_type: 'image/jpeg', family: 'image' },
    { work_dir: dir, signal: left.signal },
    async () => {
      throw new Error('it was made')
    },
  )
  left.abort(new Error('left'))
  await assert.rejects(copy, /left/)
})
