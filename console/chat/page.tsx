import { ArrowDown, CodeXml, MessageSquare, SlidersHorizontal, SquarePen } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { type ChatModel, useChatModels } from '../api/chat-models.ts'
import { useText } from '../text/use-text.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { FailureNote, Note } from '../ui/failure-note.tsx'
import { EmptyState, PageHeader, Skeleton, usePageTitle } from '../ui/layout.tsx'
import { Dialog } from '../ui/overlay/dialog.tsx'
import { useTitleFocus } from '../ui/title-focus.ts'
import { CodeDialog } from './code-dialog.tsx'
import { Composer } from './composer/composer.tsx'
import { useAttachments } from './composer/use-attachments.ts'
import { useConversation, useOpenConversation } from './conversation/open-conversation.ts'
import { EmptyChat } from './empty-chat.tsx'
import { useFileDrop, useTypingFocus } from './page-input.ts'
import { settle } from './playground/charge.ts'
import { PlaygroundContext, useNewPlayground, useOnCharged, usePlayground } from './playground/playground.ts'
import { useScrollToEnd } from './scroll-to-end.ts'
import { ModelPicker } from './settings/model-picker.tsx'
import { SettingsForm } from './settings/settings-form.tsx'
import { AnswerTurn } from './turn/answer-turn.tsx'
import { UserTurn } from './turn/user-turn.tsx'

/** A conversation with any chat model of the plan, through the public API. */
export function ChatPage() {
  const t = useText('chat')
  const models = useChatModels()
  if (models.data && models.data.length > 0) return <PlaygroundPage models={models.data} />
  return (
    <>
      <PageHeader title={t('title')} />
      {models.error ? <FailureNote error={models.error} onRetry={() => void models.refetch()} /> : null}
      {models.isPending && <Skeleton className="mx-auto h-24 max-w-3xl" />}
      {models.data && (
        <EmptyState icon={<MessageSquare />} title={t('no_models_title')}>
          {t('no_models')}
        </EmptyState>
      )}
    </>
  )
}

function PlaygroundPage({ models }: { models: readonly ChatModel[] }) {
  const t = useText('chat')
  const conversation = useOpenConversation()
  const playground = useNewPlayground(conversation, models)
  const onCharged = useOnCharged()
  usePageTitle(t('title'))
  useEffect(() => {
    for (const message of conversation.read().messages)
      if (message.role === 'assistant' && message.status !== 'streaming' && message.cost === null)
        void settle(conversation, message, onCharged)
  }, [conversation, onCharged])
  return (
    <PlaygroundContext value={playground}>
      <div className="-mt-6 -mb-16 grid gap-x-10 lg:-mt-8 xl:grid-cols-[minmax(0,1fr)_18.5rem]">
        <ConversationColumn />
        <aside
          aria-label={t('settings')}
          className="sticky top-0 hidden h-dvh overflow-y-auto border-s border-line py-8 ps-8 pe-1 [scrollbar-width:thin] xl:block"
        >
          <SettingsForm />
        </aside>
      </div>
    </PlaygroundContext>
  )
}

/** The conversation between its header and composer, which stay in view. */
function ConversationColumn() {
  const t = useText('chat')
  const { conversation } = usePlayground()
  const empty = useConversation(conversation, ({ messages }) => messages.length === 0)
  const answering = useConversation(conversation, () => conversation.answering !== null)
  const stored = useConversation(conversation, conversation.isStored)
  const files = useAttachments()
  const over = useFileDrop(files.addFiles)
  const content = useRef<HTMLDivElement>(null)
  const input = useRef<HTMLTextAreaElement>(null)
  const { away, follow } = useScrollToEnd(content, empty)
  useTypingFocus(input)
  return (
    <div className="flex min-h-[calc(100dvh-3.25rem)] min-w-0 flex-col lg:min-h-dvh">
      <Head onNew={() => input.current?.focus()} />
      <div ref={content} className="mx-auto flex w-full max-w-3xl grow flex-col gap-4 pt-4 pb-6">
        {empty ? <EmptyChat onChosen={() => input.current?.focus()} /> : <Turns />}
        {!stored && <Note tone="warning">{t('not_stored')}</Note>}
        <p role="status" className="sr-only">
          {!empty && t(answering ? 'answering' : 'answer_complete')}
        </p>
      </div>
      <div className="sticky bottom-0 z-10 mx-auto w-full max-w-3xl bg-canvas pb-[max(1rem,env(safe-area-inset-bottom))]">
        {away && (
          <div className="absolute inset-x-0 -top-12 flex justify-center">
            <IconButton
              label={t('scroll_to_end')}
              icon={<ArrowDown />}
              variant="secondary"
              onClick={follow}
              className="rounded-full! shadow-float!"
            />
          </div>
        )}
        <Composer files={files} input={input} onSent={follow} />
      </div>
      {over && (
        <div className="pointer-events-none fixed inset-0 z-50 grid place-items-center bg-scrim">
          <p className="rounded-2xl border-2 border-dashed border-accent bg-raised px-8 py-6 text-base font-medium shadow-float">
            {t('drop_here')}
          </p>
        </div>
      )}
    </div>
  )
}

/** The conversation so far. */
function Turns() {
  const t = useText('chat')
  const { conversation } = usePlayground()
  const messages = useConversation(conversation, (now) => now.messages)
  const answering = useConversation(conversation, () => conversation.answering !== null)
  return (
    <section role="log" aria-live="off" aria-label={t('messages')} className="flex flex-col gap-4">
      {messages.map((message, i) =>
        message.role === 'user' ? (
          <UserTurn key={message.id} message={message} last={i === messages.length - 1} locked={answering} />
        ) : (
          <AnswerTurn key={message.id} message={message} last={i === messages.length - 1} locked={answering} />
        ),
      )}
    </section>
  )
}

function Head({ onNew }: { onNew: () => void }) {
  const t = useText('chat')
  const { actions } = usePlayground()
  const heading = useTitleFocus()
  const [shown, setShown] = useState<'code' | 'settings' | null>(null)
  const close = () => setShown(null)
  const begin = () => {
    actions.clear()
    onNew()
  }
  return (
    <header className="sticky top-13 z-10 mx-auto flex w-full max-w-3xl items-center gap-2 bg-canvas py-3 lg:top-0">
      <h1 ref={heading} tabIndex={-1} data-page-title className="sr-only">
        {t('title')}
      </h1>
      <ModelPicker />
      <span className="grow" />
      <IconButton
        label={t('show_settings')}
        icon={<SlidersHorizontal />}
        onClick={() => setShown('settings')}
        className="xl:hidden"
      />
      <IconButton label={t('as_code')} icon={<CodeXml />} onClick={() => setShown('code')} />
      <Button icon={<SquarePen />} onClick={begin} aria-label={t('new_conversation')}>
        <span className="max-sm:hidden">{t('new_conversation')}</span>
      </Button>
      {shown === 'code' && <CodeDialog onClose={close} />}
      <Dialog open={shown === 'settings'} onOpenChange={close} title={t('settings')}>
        <SettingsForm />
      </Dialog>
    </header>
  )
}
