import { Pencil, RotateCcw, Trash2 } from 'lucide-react'
import { memo, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { IconButton } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/data/code.tsx'
import { Attachments } from '../composer/attachments.tsx'
import type { UserMessage } from '../conversation/conversation.ts'
import { usePlayground } from '../playground/playground.ts'
import { EditText } from './edit-text.tsx'
import { TurnActions } from './turn-actions.tsx'

/** A message of the person. */
export const UserTurn = memo(function UserTurn({
  message,
  last,
  locked,
}: {
  message: UserMessage
  last: boolean
  locked: boolean
}) {
  const t = useText('chat')
  const { actions } = usePlayground()
  const [editing, setEditing] = useState(false)
  const [edited, setEdited] = useState(false)
  const { id, text, attachments } = message
  const endEditing = () => {
    setEditing(false)
    setEdited(true)
  }
  return (
    <article
      aria-label={t('you')}
      data-last={last ? '' : undefined}
      className="group/turn -mb-2 flex flex-col items-end gap-1"
    >
      <Attachments attachments={attachments} className="justify-end" />
      {editing ? (
        <EditText
          text={text}
          onCancel={endEditing}
          onSave={(next, again) => {
            endEditing()
            actions.edit(id, next, again)
          }}
          again={!locked}
        />
      ) : (
        text !== '' && (
          <p className="max-w-[85%] rounded-2xl border border-line bg-sunken px-4 py-2.5 leading-relaxed [overflow-wrap:anywhere] whitespace-pre-wrap">
            {text}
          </p>
        )
      )}
      {!editing && (
        <TurnActions>
          {last && (
            <IconButton size="sm" label={t('answer')} icon={<RotateCcw />} disabled={locked} onClick={actions.answer} />
          )}
          {text !== '' && <CopyButton text={text} />}
          <IconButton
            size="sm"
            label={t('edit')}
            icon={<Pencil />}
            disabled={locked}
            autoFocus={edited}
            onClick={() => setEditing(true)}
          />
          <IconButton
            size="sm"
            label={t('remove')}
            icon={<Trash2 />}
            disabled={locked}
            onClick={() => actions.remove(id)}
          />
        </TurnActions>
      )}
    </article>
  )
})
