import { ASPECT_RATIOS, type AspectRatio, type Capabilities, type RenderMode } from '../contract.ts'
import type { Dialect, InputName } from './dialects/dialect.ts'

type CapabilityOptions = {
  references_base_url?: string
  inputs?: InputName[]
  input_transport?: 'url' | 'data'
  seconds?: [min: number, max: number]
  ratios?: AspectRatio[]
}

/** What a model can take: what the dialect can carry, narrowed by the entry's options. */
export function readCapabilities(dialect: Dialect, options: CapabilityOptions): Capabilities {
  const served = (input: InputName) =>
    !dialect.separate_references || !isReference(input) || options.references_base_url !== undefined
  const inputs = new Set(
    [...dialect.inputs].filter((input) => served(input) && (options.inputs?.includes(input) ?? true)),
  )
  const { images, videos, audio, files } = dialect.references_max
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
  return {
    modes,
    references_max: { ...most, files: Math.min(files, most.images + most.videos + most.audio) },
    seconds: options.seconds ?? [4, 15],
    aspect_ratios: new Set(options.ratios ?? ASPECT_RATIOS),
    auto_aspect_ratio: options.ratios?.includes('Auto') ?? true,
    media: options.input_transport === 'data' ? 'data_url' : dialect.media,
    audio_out: true,
    cancel: dialect.cancel,
    idempotency: 'none',
  }
}

export function isReference(input: InputName): boolean {
  return input.startsWith('reference_')
}
