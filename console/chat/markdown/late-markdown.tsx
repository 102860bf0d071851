import { useSyncExternalStore } from 'react'
import type { Markdown } from './markdown.tsx'

let shown: typeof Markdown | null = null
let loading: Promise<void> | null = null
const listeners = new Set<() => void>()

/** Loads what formats answers: with the first of them, since a new conversation has none. Resolves also when it does not load. */
export function loadMarkdown(): Promise<void> {
  loading ??= import('./markdown.tsx').then(
    (module) => {
      shown = module.Markdown
      for (const listener of listeners) listener()
    },
    () => {
      loading = null
    },
  )
  return loading
}

/** `Markdown`; the text as it was written until that is loaded. */
export function LateMarkdown({ text }: { text: string }) {
  const Shown = useMarkdown()
  if (Shown) return <Shown text={text} />
  return <p className="leading-relaxed [overflow-wrap:anywhere] whitespace-pre-wrap">{text}</p>
}

/** Null until it is loaded. A component that will show an answer calls it before there is text, so that nobody sees the change. */
export function useMarkdown(): typeof Markdown | null {
  return useSyncExternalStore(listen, () => shown)
}

function listen(listener: () => void): () => void {
  void loadMarkdown()
  listeners.add(listener)
  return () => listeners.delete(listener)
}
