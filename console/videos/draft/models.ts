import type { VideoModel } from '../../api/video-models.ts'
import type { Slot } from './attachments.ts'

/** Whether a model accepts files in this slot. */
export function accepts(model: VideoModel | null, slot: Slot): boolean {
  return !model?.inputs || model.inputs.includes(INPUT_OF[slot])
}

/** The entry of a model's `inputs` for each slot. */
const INPUT_OF = {
  first_frame: 'first_frame',
  last_frame: 'last_frame',
  images: 'reference_images',
  videos: 'reference_videos',
  audio: 'reference_audio',
} as const satisfies Record<Slot, string>
