import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button, IconButton } from '../button.tsx'
import { cx } from '../class-names.ts'
import { toast } from '../overlay/toast.ts'

type CopyButtonProps = { text: string; label?: string; size?: 'sm' | 'md'; autoFocus?: boolean }

/** Copies a text to the clipboard and confirms it. With `label` it is a button with words. */
export function CopyButton({ text, label, size = 'sm', autoFocus }: CopyButtonProps) {
  const t = useText('kit')
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 2000)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
    } catch {
      toast(t('copy_failed'), 'danger')
    }
  }
  const icon = copied ? <Check className="text-success" /> : <Copy />
  const shown = copied ? t('copied') : (label ?? t('copy'))
  if (label === undefined) return <IconButton label={shown} icon={icon} size={size} onClick={() => void copy()} />
  return (
    <Button autoFocus={autoFocus} size={size} icon={icon} onClick={() => void copy()}>
      <span aria-live="polite">{shown}</span>
    </Button>
  )
}

/** A block of code with a copy button. `wrap` for what must be visible in full, such as a key. */
export function CodeBlock({ code, wrap, label }: { code: string; wrap?: boolean; label: string }) {
  return (
    <section aria-label={label} className="relative min-w-0 rounded-lg border border-line bg-sunken">
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        className={cx(
          'overflow-x-auto py-3 ps-4 pe-12 font-mono text-[0.8125rem] leading-relaxed',
          wrap && 'break-all whitespace-pre-wrap',
        )}
      >
        <code>{code}</code>
      </pre>
      <div className="absolute end-1.5 top-1.5 rounded-lg bg-sunken">
        <CopyButton text={code} />
      </div>
    </section>
  )
}

/** An id breaks in its middle where it has no room in one line: a letter on a line of its own looks like a mistake. */
export function Id({ children }: { children: string }) {
  const half = Math.ceil(children.length / 2)
  return (
    <span data-id>
      <span className="whitespace-nowrap">{children.slice(0, half)}</span>
      <wbr />
      <span className="whitespace-nowrap">{children.slice(half)}</span>
    </span>
  )
}

/** Ids, and hints of keys. */
const ID = /^[a-z]+[-_]\S{1,36}$/

/** A short piece of code within a text. */
export function Code({ children }: { children: string }) {
  return (
    <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.85em] break-all">
      {ID.test(children) ? <Id>{children}</Id> : children}
    </code>
  )
}
