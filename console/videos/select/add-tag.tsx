import { type FormEvent, useId, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { Input } from '../../ui/form/input.tsx'
import { toast } from '../../ui/overlay/toast.ts'
import { useChangeLabels, useTags } from '../labels/change-labels.ts'

/** Adds one tag to all that are selected. */
export function AddTag({ ids, onAdded }: { ids: string[]; onAdded?: () => void }) {
  const t = useText('videos/clips')
  const { mutate, isPending } = useChangeLabels()
  const [typed, setTyped] = useState('')
  const [wanted, setWanted] = useState(false)
  const known = useTags(wanted)
  const list = useId()
  const add = (event: FormEvent) => {
    event.preventDefault()
    const tag = typed.trim()
    if (tag === '') return
    mutate(
      { ids, add_tags: [tag] },
      {
        onSuccess: () => {
          setTyped('')
          onAdded?.()
          toast(t('tag_added', { tag, count: ids.length }))
        },
      },
    )
  }
  return (
    <form onSubmit={add} className="flex items-center gap-1">
      <Input
        list={list}
        value={typed}
        maxLength={50}
        aria-label={t('tag_placeholder')}
        placeholder={t('tag_placeholder')}
        onFocus={() => setWanted(true)}
        onChange={({ target }) => setTyped(target.value)}
        className={onAdded ? '' : 'h-8! w-32!'}
      />
      <datalist id={list}>
        {known.map((tag) => (
          <option key={tag} value={tag} />
        ))}
      </datalist>
      <Button size="sm" type="submit" busy={isPending}>
        {t('add')}
      </Button>
    </form>
  )
}
