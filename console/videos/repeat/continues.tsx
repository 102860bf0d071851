import { useText } from '../../text/use-text.ts'
import { Note } from '../../ui/failure-note.tsx'
import type { Draft } from '../draft/draft.ts'

/** That the request continues a clip, as long as that one's last frame is its first. */
export function Continues({ continues, mode, files }: Draft) {
  const t = useText('videos/repeat')
  if (mode !== 'frames' || files.first_frame[0]?.file_id !== continues?.file_id) return null
  return <Note>{t('continues', { title: continues!.title })}</Note>
}
