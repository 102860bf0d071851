import type { VideoModel } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { Note } from '../../ui/failure-note.tsx'
import { type Draft, slotsOf } from '../draft/draft.ts'
import { accepts, countMax, fitTo, secondsOf } from '../draft/models.ts'

/** What the chosen model does not take of the request of an earlier clip, in one line; nothing where it takes all. */
export function ChangedByModel({ model, kept }: { model: VideoModel; kept: Draft }) {
  const t = useText('videos/repeat')
  const videos = useText('videos')
  const { list } = useFormat()
  const fit = fitTo(model, kept)
  const { name } = model
  const changes: string[] = []
  if (fit.seconds !== kept.seconds)
    changes.push(t('changed.seconds', { model: name, ...secondsOf(model), from: kept.seconds, to: fit.seconds }))
  if (fit.aspect_ratio !== kept.aspect_ratio) {
    const ratio = (each: Draft['aspect_ratio']) => (each === 'Auto' ? videos('auto') : each)
    changes.push(t('changed.ratio', { model: name, from: ratio(kept.aspect_ratio), to: ratio(fit.aspect_ratio) }))
  }
  const used = slotsOf(kept.mode).filter((slot) => kept.files[slot].length > 0)
  const refused = used.filter((slot) => !accepts(model, slot))
  if (refused.length > 0)
    changes.push(t('changed.slots', { model: name, slots: list(refused.map((slot) => videos(`slot.${slot}`))) }))
  if (kept.mode === 'references') {
    const over = (['images', 'videos', 'audio'] as const).filter(
      (slot) => accepts(model, slot) && kept.files[slot].length > countMax(model, slot),
    )
    for (const slot of over) {
      const [n, max] = [kept.files[slot].length, countMax(model, slot)]
      changes.push(t('changed.count', { model: name, slot: videos(`slot.${slot}`), n, max }))
    }
    const n = used.reduce((sum, slot) => sum + kept.files[slot].length, 0)
    const max = model.references_max.files
    if (n > max && refused.length + over.length === 0) changes.push(t('changed.files', { model: name, n, max }))
  }
  if (changes.length === 0) return null
  return <Note tone="warning">{changes.join(' ')}</Note>
}
