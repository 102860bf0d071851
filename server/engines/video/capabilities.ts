import Type from 'typebox'
import type { EntryMistake } from '../engine-entry.ts'
import { ASPECT_RATIOS, type AspectRatio, type Capabilities, type RenderMode } from './contract.ts'

export const INPUTS = ['first_frame', 'last_frame', 'reference_images', 'reference_videos', 'reference_audio'] as const
export type InputName = (typeof INPUTS)[number]

/** Of a clip. Source: docs/contract.md 5.1. */
const SECONDS_MIN = 4
const SECONDS_MAX = 15

/** Options by which an entry says what its model takes, where that is less than the protocol can carry. */
export const CapabilityOptions = {
  seconds: Type.Optional(Type.Tuple([Type.Integer({ minimum: 1 }), Type.Integer({ minimum: 1 })])),
  ratios: Type.Optional(Type.Array(Type.Enum([...ASPECT_RATIOS]), { minItems: 1 })),
  inputs: Type.Optional(
    Type.Array(Type.Enum([...INPUTS]), {
      errorMessage: 'must be a list of inputs; how they are sent is set by input_transport: url or data',
    }),
  ),
}
export type CapabilityOptions = {
  seconds?: [min: number, max: number]
  ratios?: AspectRatio[]
  inputs?: InputName[]
}

/** What the protocol of an engine can carry, and promises. */
export type Protocol = {
  inputs: ReadonlySet<InputName>
  seconds: readonly [min: number, max: number]
  /** All of them when absent. */
  ratios?: readonly AspectRatio[]
} & Pick<Capabilities, 'references_max' | 'media' | 'cancel' | 'idempotency'>

/** What a model can take: what the protocol can carry, narrowed by the entry's options. */
export function narrowCapabilities(protocol: Protocol, options: CapabilityOptions): Capabilities {
  const inputs = new Set([...protocol.inputs].filter((input) => options.inputs?.includes(input) ?? true))
  const { images, videos, audio, files } = protocol.references_max
  const modes = new Set<RenderMode>(['text'])
  if (inputs.has('first_frame')) modes.add('first_frame')
  if (inputs.has('last_frame')) modes.add('last_frame')
  if (inputs.has('first_frame') && inputs.has('last_frame')) modes.add('both_frames')
  if (inputs.has('reference_images') || inputs.has('reference_videos')) modes.add('references')
  const most = {
    images: inputs.has('reference_images') ? images : 0,
    videos: inputs.has('reference_videos') ? videos : 0,
    audio: inputs.has('reference_audio') ? audio : 0,
  }
  const ratios = options.ratios ?? protocol.ratios ?? ASPECT_RATIOS
  const { media, cancel, idempotency } = protocol
  return {
    modes,
    references_max: { ...most, files: Math.min(files, most.images + most.videos + most.audio) },
    seconds: options.seconds ?? protocol.seconds,
    aspect_ratios: new Set(ratios),
    auto_aspect_ratio: ratios.includes('Auto'),
    media,
    audio_out: true,
    cancel,
    idempotency,
  }
}

/** Options that the protocol cannot meet, or that contradict each other. `speaks` names the protocol in a sentence. */
export function capabilityMistakes(options: CapabilityOptions, protocol: Protocol, speaks: string): EntryMistake[] {
  const [min, max] = options.seconds ?? protocol.seconds
  const mistakes = (options.inputs ?? []).flatMap((input, i) =>
    protocol.inputs.has(input) ? [] : [{ path: `inputs.${i}`, message: `${speaks} cannot carry it.` }],
  )
  if (min > max) mistakes.push({ path: 'seconds', message: 'The first number must not be above the second.' })
  if (min > SECONDS_MAX || max < SECONDS_MIN)
    mistakes.push({
      path: 'seconds',
      message: `No clip has such a length: they are of ${SECONDS_MIN} to ${SECONDS_MAX} seconds.`,
    })
  return mistakes
}
