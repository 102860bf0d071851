import { ArrowUp, Paperclip, Square, X } from 'lucide-react'
import { type KeyboardEvent, type Ref, useRef } from 'react'
import { add } from '../../api/money.ts'
import { useText } from '../../text/use-text.ts'
import { IconButton } from '../../ui/button.tsx'
import { Money } from '../../ui/data/format.tsx'
import { Note } from '../../ui/failure-note.tsx'
import { useConversation } from '../conversation/open-conversation.ts'
import { hasTouchKeyboard } from '../page-input.ts'
import { usePlayground } from '../playground/playground.ts'
import { Attachments } from './attachments.tsx'
import type { useAttachments } from './use-attachments.ts'
import { useBlockers } from './use-blockers.ts'

type ComposerProps = {
  files: ReturnType<typeof useAttachments>
  input: Ref<HTMLTextAreaElement>
  onSent: () => void
}

/** Where the next message is written. Stays at the foot of the window. */
export function Composer({ files, input, onSent }: ComposerProps) {
  const t = useText('chat')
  const { conversation, actions } = usePlayground()
  const draft = useConversation(conversation, (now) => now.draft)
  const answering = useConversation(conversation, () => conversation.answering !== null)
  const blockers = useBlockers()
  const hasContent = draft.text.trim() !== '' || draft.attachments.length > 0
  const ready = hasContent && !answering && blockers.length === 0 && files.pending.length === 0
  const send = () => {
    if (!ready) return
    actions.send()
    files.clearRefused()
    onSent()
  }
  const remove = (id: string) => {
    files.drop(id)
    actions.draft({ attachments: draft.attachments.filter((each) => each.id !== id) })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && answering) actions.stop()
    if (!isSending(event)) return
    event.preventDefault()
    send()
  }
  return (
    <div className="flex flex-col gap-2">
      <Remarks files={files} blockers={blockers} />
      <div className="rounded-2xl border border-control/60 bg-raised shadow-raised transition-colors focus-within:border-accent focus-within:outline-2 focus-within:outline-accent/40">
        <Attachments attachments={draft.attachments} pending={files.pending} onRemove={remove} className="px-4 pt-4" />
        <textarea
          ref={input}
          aria-label={t('composer.label')}
          placeholder={t('composer.placeholder')}
          value={draft.text}
          rows={Math.min(8, draft.text.split('\n').length)}
          onChange={({ target }) => actions.draft({ text: target.value })}
          onKeyDown={onKeyDown}
          onPaste={({ clipboardData: { files: pasted } }) => pasted.length > 0 && files.addFiles(pasted)}
          className="field-sizing-content block max-h-[40vh] w-full resize-none bg-transparent px-4 pt-3 pb-1 text-base leading-relaxed outline-none sm:text-sm sm:leading-relaxed"
        />
        <div className="flex items-center gap-2 px-2 pb-2">
          <AttachButton onFiles={files.addFiles} />
          <span className="grow" />
          <SendButton ready={ready} answering={answering} onSend={send} />
        </div>
      </div>
      <FootLine />
    </div>
  )
}

/** Which files were not taken, and why nothing can be sent now. */
function Remarks({ files, blockers }: { files: ComposerProps['files']; blockers: string[] }) {
  const t = useText('kit')
  const close = (
    <IconButton size="sm" label={t('close')} icon={<X />} onClick={files.clearRefused} className="-my-1 -me-2" />
  )
  return (
    <>
      {files.refused.length > 0 && (
        <Note tone="warning" action={close}>
          {files.refused.map((text) => (
            <p key={text}>{text}</p>
          ))}
        </Note>
      )}
      {blockers.map((text) => (
        <Note key={text} tone="warning">
          {text}
        </Note>
      ))}
    </>
  )
}

type SendButtonProps = { ready: boolean; answering: boolean; onSend: () => void }

/** Sends, or stops while an answer is streaming. */
function SendButton({ ready, answering, onSend }: SendButtonProps) {
  const t = useText('chat')
  const { actions } = usePlayground()
  if (answering)
    return (
      <IconButton
        label={t('composer.stop')}
        variant="secondary"
        icon={<Square className="fill-current" />}
        onClick={actions.stop}
      />
    )
  return (
    <IconButton
      label={t('composer.send')}
      variant="primary"
      icon={<ArrowUp />}
      aria-disabled={!ready || undefined}
      onClick={onSend}
    />
  )
}

/** Enter sends. Not while an input method turns kana into words, nor on a touch keyboard, which has no Shift + Enter. */
function isSending({ key, shiftKey, altKey, nativeEvent, keyCode }: KeyboardEvent): boolean {
  if (key !== 'Enter' || shiftKey || altKey) return false
  // Safari ends the composition before the keydown event, whose key code is then 229.
  if (nativeEvent.isComposing || keyCode === 229) return false
  return !hasTouchKeyboard()
}

function AttachButton({ onFiles }: { onFiles: (files: Iterable<File>) => void }) {
  const t = useText('chat')
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        tabIndex={-1}
        aria-hidden
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])])
          target.value = ''
        }}
      />
      <IconButton label={t('composer.attach')} icon={<Paperclip />} onClick={() => input.current?.click()} />
    </>
  )
}

/** What the conversation has cost, and how to send. */
function FootLine() {
  const t = useText('chat')
  const { conversation, model } = usePlayground()
  const spent = useConversation(conversation, ({ turns }) =>
    turns.reduce((sum, { cost }) => (cost === null ? sum : add(sum, cost)), '0.00000000'),
  )
  return (
    <p className="flex min-h-4 flex-wrap justify-between gap-x-4 px-1 text-xs text-muted">
      <span className="max-sm:hidden pointer-coarse:hidden">{t('composer.keys')}</span>
      <span className="ms-auto" data-spent={spent}>
        {t('composer.total')} <Money amount={spent} currency={model.pricing.currency} digits="exact" />
      </span>
    </p>
  )
}
