import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { ArrowDown, CodeXml, MessageSquare, MessagesSquare, SlidersHorizontal, SquarePen } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { type ChatModel, useChatModels } from '../api/chat-models.ts'
import { failureOf } from '../api/failure.ts'
import { useText } from '../text/use-text.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { FailureNote, Note } from '../ui/failure-note.tsx'
import { EmptyState, PageHeader, Skeleton, usePageTitle } from '../ui/layout.tsx'
import { Dialog } from '../ui/overlay/dialog.tsx'
import { Drawer } from '../ui/overlay/drawer.tsx'
import { useTitleFocus } from '../ui/title-focus.ts'
import { CodeDialog } from './code-dialog.tsx'
import { Composer } from './composer/composer.tsx'
import { useAttachments } from './composer/use-attachments.ts'
import { type OpenConversation, useConversation, useOpenConversation } from './conversation/open-conversation.ts'
import { synchronize } from './conversation/synchronize.ts'
import { EmptyChat } from './empty-chat.tsx'
import { ConversationList } from './list/conversation-list.tsx'
import { hasTouchKeyboard, useFileDrop, useTypingFocus } from './page-input.ts'
import { PlaygroundContext, useNewPlayground, usePlayground } from './playground/playground.ts'
import { useScrollToEnd } from './scroll-to-end.ts'
import { ModelPicker } from './settings/model-picker.tsx'
import { SentAlong } from './settings/sent-along.tsx'
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
  const { id = null } = useParams({ strict: false })
  const conversation = useOpenConversation(id)
  const playground = useNewPlayground(conversation, models)
  const title = useConversation(conversation, (now) => now.title)
  usePageTitle(title || t('title'))
  return (
    <PlaygroundContext value={playground}>
      <div className="-mt-6 -mb-16 grid gap-x-8 lg:-mt-8 xl:-ms-5 xl:grid-cols-[13.5rem_minmax(0,1fr)] wide:grid-cols-[13.5rem_minmax(0,1fr)_18.5rem]">
        <aside
          aria-label={t('list.title')}
          className="sticky top-0 hidden h-dvh overflow-y-auto border-e border-line py-8 pe-3 [scrollbar-width:thin] xl:block"
        >
          <ConversationList />
        </aside>
        <ConversationColumn key={conversation.key} />
        <aside
          aria-label={t('settings')}
          className="sticky top-0 hidden h-dvh overflow-y-auto border-s border-line py-8 ps-8 pe-1 [scrollbar-width:thin] wide:block"
        >
          <SettingsForm />
        </aside>
      </div>
    </PlaygroundContext>
  )
}

/** What is stored of the conversation, read again whenever the window has the focus: another tab or device may have gone on. */
function useStored(conversation: OpenConversation) {
  const { id = null } = useParams({ strict: false })
  return useQuery({
    queryKey: ['conversation', id],
    queryFn: async () => {
      await synchronize(conversation)
      return true
    },
    enabled: id !== null,
    staleTime: 0,
    refetchOnWindowFocus: 'always',
  })
}

/** The conversation between its header and composer, which stay in view. */
function ConversationColumn() {
  const t = useText('chat')
  const { conversation } = usePlayground()
  const empty = useConversation(conversation, ({ messages }) => messages.length === 0)
  const answering = useConversation(conversation, () => conversation.answering !== null)
  const edited = useConversation(conversation, ({ unsaved }) => unsaved === 'edits')
  const stored = useStored(conversation)
  const files = useAttachments()
  const over = useFileDrop(files.addFiles)
  const content = useRef<HTMLDivElement>(null)
  const input = useRef<HTMLTextAreaElement>(null)
  const { away, follow } = useScrollToEnd(content, empty && conversation.read().id === null)
  useTypingFocus(input, conversation.read().id === null)
  return (
    <div className="flex min-h-[calc(100dvh-3.25rem)] min-w-0 flex-col lg:min-h-dvh">
      <Head onNew={() => !hasTouchKeyboard() && input.current?.focus()} />
      <div ref={content} className="mx-auto flex w-full max-w-3xl grow flex-col gap-4 pt-4 pb-6">
        {empty ? <Beginning stored={stored} onChosen={() => input.current?.focus()} /> : <Turns />}
        {edited && <Note>{t('edited')}</Note>}
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

/** Without messages: a conversation that is read, cannot be, or has not begun. */
function Beginning({ stored, onChosen }: { stored: ReturnType<typeof useStored>; onChosen: () => void }) {
  const t = useText('chat')
  if (stored.error && failureOf(stored.error).status === 404) return <Note tone="warning">{t('gone')}</Note>
  if (stored.error) return <FailureNote error={stored.error} onRetry={() => void stored.refetch()} />
  return stored.isEnabled && stored.isPending ? <Skeleton className="h-24" /> : <EmptyChat onChosen={onChosen} />
}

/** The conversation so far. */
function Turns() {
  const t = useText('chat')
  const { conversation } = usePlayground()
  const messages = useConversation(conversation, (now) => now.messages)
  const answering = useConversation(conversation, () => conversation.answering !== null)
  return (
    <section role="log" aria-live="off" aria-label={t('messages')} className="flex flex-col gap-4">
      {messages.map((message, i) => {
        const last = i === messages.length - 1
        if (message.role === 'user')
          return <UserTurn key={message.id} message={message} last={last} locked={answering} />
        if (message.role === 'assistant')
          return <AnswerTurn key={message.id} message={message} last={last} locked={answering} />
        return null
      })}
    </section>
  )
}

function Head({ onNew }: { onNew: () => void }) {
  const t = useText('chat')
  const { conversation, actions } = usePlayground()
  const title = useConversation(conversation, (now) => now.title)
  const heading = useTitleFocus()
  const navigate = useNavigate()
  const { id } = useParams({ strict: false })
  const [shown, setShown] = useState<'code' | 'settings' | 'list' | null>(null)
  const close = () => setShown(null)
  // A conversation that is chosen closes the list.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the address.
  useEffect(close, [id])
  const begin = async () => {
    actions.startNew()
    await navigate({ to: '/chat' })
    onNew()
  }
  return (
    <header className="sticky top-13 z-10 mx-auto w-full max-w-3xl bg-canvas py-3 lg:top-0">
      <h1 ref={heading} tabIndex={-1} data-page-title className="sr-only">
        {title || t('title')}
      </h1>
      <div className="flex items-center gap-2">
        <IconButton
          label={t('list.show')}
          icon={<MessagesSquare />}
          onClick={() => setShown('list')}
          className="-ms-2 xl:hidden"
        />
        <ModelPicker />
        <span className="grow" />
        <IconButton
          label={t('show_settings')}
          icon={<SlidersHorizontal />}
          onClick={() => setShown('settings')}
          className="wide:hidden"
        />
        <IconButton label={t('as_code')} icon={<CodeXml />} onClick={() => setShown('code')} />
        <Button icon={<SquarePen />} onClick={() => void begin()} aria-label={t('new_conversation')}>
          <span className="max-sm:hidden">{t('new_conversation')}</span>
        </Button>
      </div>
      <SentAlong onOpen={() => setShown('settings')} />
      {shown === 'code' && <CodeDialog onClose={close} />}
      <Dialog open={shown === 'settings'} onOpenChange={close} title={t('settings')}>
        <SettingsForm />
      </Dialog>
      <Drawer open={shown === 'list'} onOpenChange={close} title={t('list.title')}>
        <div className="p-3">
          <ConversationList />
        </div>
      </Drawer>
    </header>
  )
}
