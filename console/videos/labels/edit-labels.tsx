import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { type KeyboardEvent, useId, useRef, useState } from 'react'
import type { Labels } from '../../../server/videos/labels/schema.ts'
import { useText } from '../../text/use-text.ts'
import { Field } from '../../ui/form/field.tsx'
import { Input } from '../../ui/form/input.tsx'
import { Card } from '../../ui/layout.tsx'
import { useChangeLabels, useTags } from './change-labels.ts'

const NAME_MAX = 200
const TAG_MAX = 50
const TAGS_MAX = 20

/** The name and tags of a video, changed where they stand. */
export function EditLabels({ labels }: { labels: Labels }) {
  const t = useText('videos/clips')
  return (
    <Card title={t('title')}>
      <div className="flex flex-col gap-4">
        <NameField labels={labels} />
        <TagsField labels={labels} />
      </div>
    </Card>
  )
}

/** Changed when the field is left, or with Enter; Escape takes back what was typed. */
function NameField({ labels: { id, name } }: { labels: Labels }) {
  const t = useText('videos/clips')
  const { mutate } = useChangeLabels()
  const [typed, setTyped] = useState<string | null>(null)
  const [isSaved, setSaved] = useState(false)
  const commit = () => {
    if (typed === null) return
    if (typed.trim() === (name ?? '')) return setTyped(null)
    const onSuccess = () => {
      setTyped((now) => (now === typed ? null : now))
      setSaved(true)
    }
    mutate({ ids: [id], name: typed }, { onSuccess })
  }
  return (
    <Field label={t('name')} hint={t('shared')} aside={<span role="status">{isSaved && t('saved')}</span>}>
      <Input
        value={typed ?? name ?? ''}
        maxLength={NAME_MAX}
        placeholder={t('name_placeholder')}
        onChange={({ target }) => {
          setTyped(target.value)
          setSaved(false)
        }}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setTyped(null)
          else if (isEnter(event)) commit()
        }}
      />
    </Field>
  )
}

/** A tag leads to the videos that have it. */
function TagsField({ labels: { id, tags } }: { labels: Labels }) {
  const t = useText('videos/clips')
  const { mutate } = useChangeLabels()
  const input = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState('')
  const [wanted, setWanted] = useState(false)
  const known = useTags(wanted)
  const list = useId()
  const isFull = tags.length >= TAGS_MAX
  const add = () => {
    if (typed.trim() === '') return
    mutate({ ids: [id], add_tags: [typed] }, { onSuccess: () => setTyped((now) => (now === typed ? '' : now)) })
  }
  const remove = (tag: string) => {
    input.current?.focus()
    mutate({ ids: [id], tags: tags.filter((each) => each !== tag) })
  }
  return (
    <Field label={t('tags')} hint={isFull ? t('tags_full', { count: TAGS_MAX }) : undefined}>
      <div className="flex flex-col gap-2">
        {tags.length > 0 && (
          <ul className="flex flex-wrap gap-1.5">
            {tags.map((tag) => (
              <li
                key={tag}
                className="flex min-w-0 items-center rounded-md border border-line bg-sunken ps-2 text-[0.8125rem]"
              >
                <Link to="/videos" search={{ tag }} className="min-w-0 hover:underline [overflow-wrap:anywhere]">
                  {tag}
                </Link>
                <button
                  type="button"
                  aria-label={t('remove_tag', { tag })}
                  onClick={() => remove(tag)}
                  className="grid size-7 shrink-0 place-items-center rounded-md text-muted hover:text-ink pointer-coarse:size-10"
                >
                  <X className="size-3.5" />
                </button>
              </li>
            ))}
          </ul>
        )}
        <Input
          ref={input}
          list={list}
          value={typed}
          readOnly={isFull}
          maxLength={TAG_MAX}
          placeholder={t('tag_placeholder')}
          onFocus={() => setWanted(true)}
          onChange={({ target }) => setTyped(target.value)}
          onBlur={add}
          onKeyDown={(event) => {
            if (event.key === 'Escape') setTyped('')
            else if (isEnter(event)) add()
          }}
        />
        <datalist id={list}>
          {known
            .filter((tag) => !tags.includes(tag))
            .map((tag) => (
              <option key={tag} value={tag} />
            ))}
        </datalist>
      </div>
    </Field>
  )
}

/** Not the one that chooses Japanese characters. */
function isEnter({ key, nativeEvent }: KeyboardEvent): boolean {
  return key === 'Enter' && !nativeEvent.isComposing
}
