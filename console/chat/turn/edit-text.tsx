import { type KeyboardEvent, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { Textarea } from '../../ui/form/input.tsx'

type EditTextProps = {
  text: string
  onCancel: () => void
  /** `again`: drop everything after it and request another answer. */
  onSave: (text: string, again: boolean) => void
  /** Offers to answer again. */
  again: boolean
}

/** Edits the text of a message. Escape cancels, Control or Command with Enter saves. */
export function EditText({ text, onCancel, onSave, again }: EditTextProps) {
  const t = useText('chat')
  const [now, setNow] = useState(text)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return
    if (event.key === 'Escape') onCancel()
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onSave(now, again)
  }
  return (
    <div className="flex w-full flex-col gap-2">
      <Textarea
        aria-label={t('message_text')}
        autoFocus
        value={now}
        onChange={({ target }) => setNow(target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="flex flex-wrap justify-end gap-2">
        <Button size="sm" variant="ghost" onClick={onCancel}>
          {t('cancel')}
        </Button>
        <Button size="sm" onClick={() => onSave(now, false)}>
          {t('save')}
        </Button>
        {again && (
          <Button size="sm" variant="primary" onClick={() => onSave(now, true)}>
            {t('save_and_answer')}
          </Button>
        )}
      </div>
    </div>
  )
}
