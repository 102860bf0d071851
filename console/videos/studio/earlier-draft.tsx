import { Undo2, X } from 'lucide-react'
import { useText } from '../../text/use-text.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { leaveEarlierDraft, useEarlierDraft } from './draft-store.ts'

/** Offers the draft back that a used one took the place of. */
export function EarlierDraft() {
  const t = useText('videos')
  const kit = useText('kit')
  const earlier = useEarlierDraft()
  if (earlier === null) return null
  return (
    <div className="flex items-center gap-2 rounded-lg border border-line bg-sunken py-1 ps-3 pe-1 text-[0.8125rem] text-muted">
      <span className="min-w-0 grow truncate" title={earlier.prompt}>
        {t('earlier', { prompt: earlier.prompt })}
      </span>
      <Button size="sm" variant="ghost" icon={<Undo2 />} onClick={() => leaveEarlierDraft(true)}>
        {t('earlier_back')}
      </Button>
      <IconButton size="sm" label={kit('close')} icon={<X />} onClick={() => leaveEarlierDraft(false)} />
    </div>
  )
}
