import { ChevronLeft, ChevronRight, Pencil, RotateCcw, Trash2 } from 'lucide-react'
import { memo, type ReactNode, type Ref, useRef, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { IconButton } from '../../ui/button.tsx'
import { StatusBadge } from '../../ui/data/badge.tsx'
import { CopyButton } from '../../ui/data/code.tsx'
import { Money, useFormat } from '../../ui/data/format.tsx'
import { Note } from '../../ui/failure-note.tsx'
import { type AssistantMessage, hasContent, type Tokens } from '../conversation/conversation.ts'
import { useConversation } from '../conversation/open-conversation.ts'
import { versionsOf } from '../conversation/turns.ts'
import { LateMarkdown, useMarkdown } from '../markdown/late-markdown.tsx'
import { usePlayground } from '../playground/playground.ts'
import { AnswerFailure } from './answer-failure.tsx'
import { EditText } from './edit-text.tsx'
import { Reasoning } from './reasoning.tsx'
import { ToolCalls } from './tool-calls.tsx'
import { TurnActions } from './turn-actions.tsx'

type AnswerTurnProps = { message: AssistantMessage; last: boolean; locked: boolean }

/** An answer: reasoning, text, tool calls and cost. */
export const AnswerTurn = memo(function AnswerTurn({ message, last, locked }: AnswerTurnProps) {
  const t = useText('chat')
  const { models, actions } = usePlayground()
  const [editing, setEditing] = useState(false)
  const editButton = useRef<HTMLButtonElement>(null)
  useMarkdown()
  const { id, text, status, failure } = message
  const name = models.find((each) => each.id === message.model)?.name ?? message.model
  const streaming = status === 'streaming'
  const endEditing = () => {
    setEditing(false)
    editButton.current?.focus()
  }
  return (
    <article
      aria-label={name}
      aria-busy={streaming}
      data-last={last ? '' : undefined}
      data-status={status}
      className="group/turn flex min-w-0 flex-col gap-3"
    >
      <header className="flex h-6 items-center gap-2 text-[0.8125rem] font-medium">
        {name}
        {streaming && (
          <StatusBadge tone="accent" live>
            {t('answering')}
          </StatusBadge>
        )}
        {status === 'stopped' && <StatusBadge tone="neutral">{t('stopped')}</StatusBadge>}
      </header>
      <Reasoning message={message} />
      {editing ? (
        <EditText
          text={text}
          onCancel={endEditing}
          onSave={(next) => {
            endEditing()
            actions.edit(id, next, false)
          }}
          again={false}
        />
      ) : (
        text !== '' && <LateMarkdown text={text} />
      )}
      <Remarks message={message} />
      {message.tool_calls.length > 0 && <ToolCalls message={message} last={last} />}
      {failure && <AnswerFailure failure={failure} onRetry={locked ? undefined : () => actions.answerAgain(id)} />}
      <footer className="flex min-h-8 flex-wrap items-center gap-x-4 gap-y-1">
        {message.response_id !== null && <Versions response_id={message.response_id} locked={locked} />}
        <Price message={message} />
        <AnswerActions message={message} locked={locked} editButton={editButton} onEdit={() => setEditing(true)} />
      </footer>
    </article>
  )
})

type AnswerActionsProps = {
  message: AssistantMessage
  locked: boolean
  editButton: Ref<HTMLButtonElement>
  onEdit: () => void
}

function AnswerActions({ message: { id, text }, locked, editButton, onEdit }: AnswerActionsProps) {
  const t = useText('chat')
  const { actions } = usePlayground()
  const again = () => actions.answerAgain(id)
  const remove = () => actions.remove(id)
  return (
    <TurnActions className="ms-auto -me-2">
      {text !== '' && <CopyButton text={text} />}
      {text !== '' && (
        <IconButton ref={editButton} size="sm" label={t('edit')} icon={<Pencil />} disabled={locked} onClick={onEdit} />
      )}
      <IconButton size="sm" label={t('regenerate')} icon={<RotateCcw />} disabled={locked} onClick={again} />
      <IconButton size="sm" label={t('remove')} icon={<Trash2 />} disabled={locked} onClick={remove} />
    </TurnActions>
  )
}

/** Which version of its turn an answer is, with ways to the others; nothing when it is the only one. */
function Versions({ response_id, locked }: { response_id: string; locked: boolean }) {
  const t = useText('chat')
  const { number } = useFormat()
  const { conversation, actions } = usePlayground()
  const turns = useConversation(conversation, (now) => now.turns)
  const unsaved = useConversation(conversation, (now) => now.unsaved !== null)
  const versions = versionsOf(turns, response_id)
  const place = versions.findIndex(({ id }) => id === response_id)
  if (versions.length < 2) return null
  const step = (label: string, icon: ReactNode, to: number) => (
    <IconButton
      size="sm"
      label={label}
      icon={icon}
      disabled={locked || unsaved || versions[to] === undefined}
      onClick={() => actions.show(versions[to]!.id)}
    />
  )
  return (
    <section aria-label={t('versions')} className="-ms-2 flex items-center text-xs text-muted tabular-nums">
      {step(t('previous_version'), <ChevronLeft />, place - 1)}
      <span aria-live="polite">{t('version_of', { version: number(place + 1), count: number(versions.length) })}</span>
      {step(t('next_version'), <ChevronRight />, place + 1)}
    </section>
  )
}

/** Notes on how the answer ended: refusal, token limit, content filter, stopped, empty. */
function Remarks({ message }: { message: AssistantMessage }) {
  const t = useText('chat')
  const { status, refusal, incomplete } = message
  return (
    <>
      {refusal !== '' && (
        <Note tone="warning">
          <span className="font-medium">{t('refusal')}</span>
          <p className="mt-0.5">{refusal}</p>
        </Note>
      )}
      {incomplete === 'max_output_tokens' && <Note>{t('ended.length')}</Note>}
      {incomplete === 'content_filter' && <Note tone="warning">{t('ended.content_filter')}</Note>}
      {status === 'stopped' && !hasContent(message) && <p className="text-sm text-muted">{t('stopped_early')}</p>}
      {status === 'done' && !hasContent(message) && <p className="text-sm text-muted">{t('empty_answer')}</p>}
    </>
  )
}

/** Tokens and cost of an answer, equal to its ledger entry. */
function Price({ message }: { message: AssistantMessage }) {
  const t = useText('chat')
  const { number } = useFormat()
  const { model } = usePlayground()
  const { tokens, cost } = message
  if (cost === null) return null
  const parts = tokens ? [inputOf(tokens), outputOf(tokens)] : []
  const shown = parts.map(({ key, all, part }) => t(`tokens.${key}`, { all: number(all), part: number(part) }))
  return (
    <p data-cost={cost} className="text-xs text-muted tabular-nums">
      {shown.map((text) => `${text} · `)}
      <Money amount={cost} currency={model.pricing.currency} digits="exact" />
    </p>
  )
}

function inputOf({ input: all, cached_input: part }: Tokens) {
  return { key: part > 0 ? 'input_cached' : 'input', all, part } as const
}

function outputOf({ output: all, reasoning: part }: Tokens) {
  return { key: part > 0 ? 'output_reasoning' : 'output', all, part } as const
}
