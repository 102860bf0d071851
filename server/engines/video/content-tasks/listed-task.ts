import type { ListedRender } from '../recover-from-list.ts'

/** What a start asked for, as far as a list may show it. */
export type TaskRequest = { model: string; duration: number; ratio?: string; seed?: unknown }

/** A task of the model and length asked for, with the seed and ratio where both sides have one. */
export function isTaskOf(view: ListedRender, asked: TaskRequest): boolean {
  const { model, duration, ratio } = view
  // An Ark endpoint is asked for by its own name and listed by its model's.
  if (typeof model === 'string' && model !== asked.model && !asked.model.startsWith('ep-')) return false
  if (duration != null && Number(duration) !== asked.duration) return false
  if (isExact(asked.ratio) && typeof ratio === 'string' && ratio !== asked.ratio) return false
  return view.seed == null || asked.seed === undefined || hasSeedOfTask(view, asked)
}

/** The task of an attempt by its seed: nobody else sends that one. */
export function hasSeedOfTask(view: ListedRender, { seed }: TaskRequest): boolean {
  return seed !== undefined && view.seed != null && Number(view.seed) === seed
}

function isExact(ratio: string | undefined): boolean {
  return ratio !== undefined && ratio !== 'adaptive'
}
