import { wavHeader } from '../../../media/wav.ts'
import type { SeededRandom } from '../../seeded-random.ts'

const RATE = 48_000

/** Chords as semitones above the root, open enough to sit under speech. */
const PROGRESSIONS = [
  [
    [0, 7, 14, 16],
    [-3, 7, 12, 16],
    [5, 9, 12, 19],
    [-5, 7, 11, 14],
  ],
  [
    [0, 7, 15, 19],
    [-4, 8, 12, 15],
    [3, 10, 14, 19],
    [-2, 5, 14, 17],
  ],
  [
    [0, 7, 11, 16],
    [5, 9, 16, 19],
    [-3, 4, 12, 19],
    [5, 12, 16, 21],
  ],
] as const

/** A quiet piece as long as the clip, as a 16-bit stereo WAV at 48 kHz: slow chords and plucked notes, faded in and out. */
export function composeMusic(seconds: number, random: SeededRandom): Uint8Array {
  const length = Math.round(seconds * RATE)
  const sound: Stereo = [new Float32Array(length), new Float32Array(length)]
  const root = 130.81 * 2 ** (Math.floor(random.between(-4, 4)) / 12)
  const progression = random.pick(PROGRESSIONS)
  const bars = Math.max(2, Math.round(seconds / 3.2))
  const bar = length / bars
  for (let index = 0; index < bars; index++) {
    const chord = progression[index % progression.length]!
    for (const [voice, semitones] of chord.entries()) {
      addPad(sound, {
        hertz: root * 2 ** (semitones / 12),
        from: index * bar - bar * 0.2,
        length: bar * 1.45,
        pan: voice / 3 - 0.5,
      })
    }
    for (let step = 0; step < 6; step++) {
      const semitones = chord[Math.floor(random.between(0, chord.length))]! + 12
      const from = index * bar + (step * bar) / 6
      if (random.between(0, 1) < 0.72)
        addPluck(sound, { hertz: root * 2 ** (semitones / 12), from, pan: random.between(-0.7, 0.7) })
    }
  }
  echo(sound)
  return toWav(sound, seconds)
}

type Stereo = readonly [left: Float32Array, right: Float32Array]

/** Two slightly detuned sines and a soft octave under a raised cosine. */
function addPad(
  [left, right]: Stereo,
  { hertz, from, length, pan }: { hertz: number; from: number; length: number; pan: number },
): void {
  const start = Math.max(0, Math.round(from))
  const end = Math.min(left.length, Math.round(from + length))
  const tones = [sine(hertz * 0.9985, start), sine(hertz * 1.0015, start + 999), sine(hertz * 2, start)] as const
  for (let i = start; i < end; i++) {
    const envelope = 0.5 - 0.5 * Math.cos((2 * Math.PI * (i - from)) / length)
    const level = 0.035 * envelope
    const [a, b, octave] = [tones[0](), tones[1](), tones[2]() * 0.18]
    left[i]! += level * (a * (1 - pan) + b * 0.4 + octave)
    right[i]! += level * (b * (1 + pan) + a * 0.4 + octave)
  }
}

/** A struck tone that dies away in about a second. */
function addPluck([left, right]: Stereo, { hertz, from, pan }: { hertz: number; from: number; pan: number }): void {
  const start = Math.round(from)
  const end = Math.min(left.length, start + RATE * 1.4)
  const [tone, third] = [sine(hertz, 0), sine(hertz * 3, 0)]
  let level = 0.085
  for (let i = start; i < end; i++) {
    const rise = Math.min(1, (i - start) / 240)
    const sample = rise * level * (tone() + third() * 0.12 * (level / 0.085))
    level *= 0.99992
    left[i]! += sample * (1 - pan)
    right[i]! += sample * (1 + pan)
  }
}

/** A sine by recurrence: one multiplication a sample. */
function sine(hertz: number, offset: number): () => number {
  const step = (2 * Math.PI * hertz) / RATE
  const turn = 2 * Math.cos(step)
  let before = Math.sin(step * (offset - 2))
  let last = Math.sin(step * (offset - 1))
  return () => {
    const now = turn * last - before
    before = last
    last = now
    return now
  }
}

/** Two crossed delays give the dry tones a room. */
function echo([left, right]: Stereo): void {
  const [first, second] = [Math.round(RATE * 0.31), Math.round(RATE * 0.43)]
  for (let i = second; i < left.length; i++) {
    left[i]! += 0.3 * right[i - first]!
    right[i]! += 0.26 * left[i - second]!
  }
}

function toWav([left, right]: Stereo, seconds: number): Uint8Array {
  const samples = Buffer.alloc(left.length * 4)
  for (let i = 0; i < left.length; i++) {
    const at = i / RATE
    const gain = Math.min(1, at / 0.8, (seconds - at) / 1.6)
    samples.writeInt16LE(toSample(left[i]! * gain), i * 4)
    samples.writeInt16LE(toSample(right[i]! * gain), i * 4 + 2)
  }
  return Buffer.concat([wavHeader(samples.length, { rate: RATE, channels: 2 }), samples])
}

function toSample(value: number): number {
  return Math.round(32_000 * Math.tanh(value))
}
