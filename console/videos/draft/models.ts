import type { VideoModel } from '../../api/video-models.ts'
import { RULES, type Slot } from './attachments.ts'
import { ASPECT_RATIOS, type AspectRatio, type Draft, SECONDS, slotsOf } from './draft.ts'

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

/** How many files a model takes in a slot; those of the service while no model is chosen. */
export function countMax(model: VideoModel | null, slot: 'images' | 'videos' | 'audio'): number {
  const { count_max } = RULES[slot]
  return model === null ? count_max : Math.min(count_max, model.references_max[slot])
}

/** The lengths a model renders, in seconds, among those of the service. */
export function secondsOf(model: VideoModel | null): { min: number; max: number } {
  if (model === null) return SECONDS
  return { min: Math.max(SECONDS.min, model.seconds.min), max: Math.min(SECONDS.max, model.seconds.max) }
}

/** The aspect ratios a model renders, in the order in which they are shown. */
export function ratiosOf(model: VideoModel | null): readonly AspectRatio[] {
  return model === null ? ASPECT_RATIOS : ASPECT_RATIOS.filter((ratio) => model.aspect_ratios.includes(ratio))
}

/** The draft with the length and ratio that the model renders nearest to those chosen. The choice itself is kept for other models. */
export function fitTo(model: VideoModel | null, draft: Draft): Draft {
  const { min, max } = secondsOf(model)
  const ratios = ratiosOf(model)
  const ratio = ratios.includes(draft.aspect_ratio)
    ? draft.aspect_ratio
    : (ratios.find((each) => each === '16:9') ?? ratios[0])
  return {
    ...draft,
    seconds: Math.min(max, Math.max(min, draft.seconds)),
    aspect_ratio: ratio ?? draft.aspect_ratio,
  }
}

/** Why a model cannot take the draft's files; null when it can. */
export function unfitFiles(model: VideoModel, { mode, files }: Draft): 'mode_missing' | 'too_many' | null {
  const slots = slotsOf(mode).filter((slot) => files[slot].length > 0)
  if (slots.some((slot) => !accepts(model, slot))) return 'mode_missing'
  if (mode !== 'references') return null
  const references = ['images', 'videos', 'audio'] as const
  const count = references.reduce((sum, slot) => sum + files[slot].length, 0)
  const isOver = references.some((slot) => files[slot].length > countMax(model, slot))
  return isOver || count > model.references_max.files ? 'too_many' : null
}
