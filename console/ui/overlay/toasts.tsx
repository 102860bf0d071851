import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { Toast as Radix } from 'radix-ui'
import { type FocusEvent, useCallback, useEffect, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button, IconButton, isApple } from '../button.tsx'
import { closeToast, toast, useShown } from './toast.ts'
import { type Deletion, send, undo, useUndoable } from './undo.tsx'

/**
 * Where toasts appear, with those that offer an undo. Once, at the root. At the end of the window; at its beginning where the form of videos takes
 * the end, which has the price and the button.
 */
export function Toasts() {
  const t = useText('kit')
  const toasts = useShown()
  return (
    <Radix.Provider swipeDirection="right" label={t('notification')}>
      {toasts.map(({ id, text, tone, shown_ms }) => (
        <Radix.Root
          key={id}
          duration={shown_ms}
          onOpenChange={(open) => {
            if (open) return
            leaveToasts()
            closeToast(id)
          }}
          className="flex w-full animate-rise items-center gap-3 rounded-xl border border-line bg-raised py-2 ps-4 pe-2 text-sm shadow-float"
        >
          {tone === 'success' ? (
            <CircleCheck aria-hidden className="size-4 shrink-0 text-success" />
          ) : (
            <CircleAlert aria-hidden className="size-4 shrink-0 text-danger" />
          )}
          <Radix.Title className="grow text-balance [overflow-wrap:anywhere]">{text}</Radix.Title>
          <Radix.Close asChild>
            <IconButton label={t('close')} icon={<X />} size="sm" />
          </Radix.Close>
        </Radix.Root>
      ))}
      <UndoToasts />
      <Radix.Viewport
        label={t('notifications')}
        onFocus={rememberPlace}
        data-toasts
        className="pointer-events-none fixed end-0 bottom-[env(safe-area-inset-bottom)] z-60 max-xl:in-[:root:has([data-cost]):not(:has([data-select-bar]))]:top-13 max-xl:in-[:root:has([data-cost]):not(:has([data-select-bar]))]:bottom-auto flex max-h-dvh w-[min(26rem,100vw)] flex-col gap-2 overflow-y-auto p-4 outline-none *:pointer-events-auto"
      />
    </Radix.Provider>
  )
}

/** What had the focus before it came to the toasts. */
let place: Element | null = null

function rememberPlace({ currentTarget, relatedTarget }: FocusEvent): void {
  if (!currentTarget.contains(relatedTarget)) place = relatedTarget
}

/** Before the toast that has the focus is gone: the focus goes back. Radix would stop the time of all later toasts until it has left. */
function leaveToasts(): void {
  if (!document.activeElement?.closest('[data-toasts]')) return
  const back = place?.isConnected ? place : document.querySelector('[data-page-title]')
  if (back instanceof HTMLElement) back.focus({ preventScroll: true })
}

/** How long a deletion can be undone. */
const UNDO_SECONDS = 10

/** A toast for each deletion that can be undone. */
function UndoToasts() {
  const restore = useRestore()
  const undoable = useUndoable()
  const last = undoable.at(-1)
  useEffect(() => {
    if (!last) return
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, shiftKey, target } = event
      const isTyping = target instanceof Element && target.closest('input, textarea, [contenteditable]')
      if (key.toLowerCase() !== 'z' || !(ctrlKey || metaKey) || shiftKey || isTyping) return
      event.preventDefault()
      restore(last)
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [last, restore])
  return undoable.map((deletion) => <UndoToast key={deletion.paths[0]} {...{ deletion, restore }} />)
}

function useRestore(): (deletion: Deletion) => void {
  const t = useText('kit')
  const text = t('restored')
  return useCallback(
    (deletion) => {
      undo(deletion)
      toast(text)
    },
    [text],
  )
}

/** Counts down, but while it has the focus or the pointer: whoever has reached the button has time to press it. */
function UndoToast({ deletion, restore }: { deletion: Deletion; restore: (deletion: Deletion) => void }) {
  const t = useText('kit')
  const [seconds, setSeconds] = useState(UNDO_SECONDS)
  const [focused, setFocused] = useState(false)
  const [pointed, setPointed] = useState(false)
  const paused = focused || pointed
  useEffect(() => {
    if (paused) return
    const timer = setInterval(() => setSeconds((now) => now - 1), 1000)
    return () => clearInterval(timer)
  }, [paused])
  useEffect(() => {
    if (seconds <= 0) send(deletion)
  }, [seconds, deletion])
  return (
    <Radix.Root
      duration={Number.POSITIVE_INFINITY}
      onOpenChange={(open) => {
        if (open) return
        leaveToasts()
        send(deletion)
      }}
      onEscapeKeyDown={(event) => event.preventDefault()}
      onFocus={() => setFocused(true)}
      onBlur={() => setFocused(false)}
      onPointerEnter={() => setPointed(true)}
      onPointerLeave={() => setPointed(false)}
      className="flex w-full animate-rise items-center gap-3 rounded-xl border border-line bg-raised py-2 ps-4 pe-2 text-sm shadow-float"
    >
      <Radix.Title className="grow text-balance">
        <span className="line-clamp-2 [overflow-wrap:anywhere]">{deletion.text}</span>{' '}
        <span className="text-[0.8125rem] text-muted">{t('undo_key', { key: isApple() ? '⌘Z' : 'Ctrl+Z' })}</span>
      </Radix.Title>
      <Radix.Action asChild altText={t('undo_hint')}>
        <Button size="sm" aria-keyshortcuts="Control+Z Meta+Z" onClick={() => restore(deletion)}>
          {t('undo')}
          <span aria-hidden className="text-muted tabular-nums">
            {seconds}
          </span>
        </Button>
      </Radix.Action>
    </Radix.Root>
  )
}
