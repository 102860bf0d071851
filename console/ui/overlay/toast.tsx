import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { Toast as Radix } from 'radix-ui'
import { type ReactNode, useSyncExternalStore } from 'react'
import { onSignOut } from '../../api/personal-storage.ts'
import { useText } from '../../text/use-text.ts'
import { IconButton } from '../button.tsx'

type Toast = { id: number; text: ReactNode; tone: 'success' | 'danger'; shown_ms: number }

const SHOWN_MS = 5000

let shown: readonly Toast[] = []
let next = 1
const listeners = new Set<() => void>()

/** Says briefly that something was done, or was not. What must be read belongs on the page. */
export function toast(text: ReactNode, tone: Toast['tone'] = 'success', shown_ms = SHOWN_MS): void {
  set([...shown.slice(-2), { id: next++, text, tone, shown_ms }])
}

function set(toasts: readonly Toast[]): void {
  shown = toasts
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

// A toast may quote what the person wrote.
onSignOut(() => set([]))

/** Where toasts appear, `children` among them. Once, at the root. */
export function Toasts({ children }: { children?: ReactNode }) {
  const t = useText('kit')
  const toasts = useSyncExternalStore(listen, () => shown)
  return (
    <Radix.Provider swipeDirection="right" label={t('notification')}>
      {toasts.map(({ id, text, tone, shown_ms }) => (
        <Radix.Root
          key={id}
          duration={shown_ms}
          onOpenChange={(open) => !open && set(shown.filter((each) => each.id !== id))}
          className="flex w-full animate-rise items-center gap-3 rounded-xl border border-line bg-raised py-2 ps-4 pe-2 text-sm shadow-float"
        >
          {tone === 'success' ? (
            <CircleCheck aria-hidden className="size-4 shrink-0 text-success" />
          ) : (
            <CircleAlert aria-hidden className="size-4 shrink-0 text-danger" />
          )}
          <Radix.Title className="grow [overflow-wrap:anywhere]">{text}</Radix.Title>
          <Radix.Close asChild>
            <IconButton label={t('close')} icon={<X />} size="sm" />
          </Radix.Close>
        </Radix.Root>
      ))}
      {children}
      <Radix.Viewport
        label={t('notifications')}
        className="pointer-events-none fixed end-0 bottom-[env(safe-area-inset-bottom)] z-60 flex max-h-dvh w-[min(26rem,100vw)] flex-col gap-2 overflow-y-auto p-4 outline-none *:pointer-events-auto"
      />
    </Radix.Provider>
  )
}
