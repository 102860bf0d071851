import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import { type FormEvent, type ReactNode, useState } from 'react'
import { failureOf } from '../../api/failure.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../button.tsx'
import { cx } from '../class-names.ts'
import { FailureNote } from '../failure-note.tsx'
import { useOpener } from './opener.ts'

type DialogProps = {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: ReactNode
  description?: ReactNode
  children?: ReactNode
  /** Buttons, right-aligned; the main one last. */
  actions?: ReactNode
  size?: 'sm' | 'md' | 'lg' | 'xl'
  /** Makes the dialog a form: Enter submits it. */
  onSubmit?: () => void
}

const WIDTHS = { sm: 'max-w-sm', md: 'max-w-lg', lg: 'max-w-2xl', xl: 'max-w-5xl' }

/** A question or a small form above the page. Focus stays in it and goes back where it was; Escape closes it. */
export function Dialog({
  open,
  onOpenChange,
  title,
  description,
  children,
  actions,
  size = 'md',
  onSubmit,
}: DialogProps) {
  const t = useText('kit')
  const { noteDialog, restore } = useOpener(open)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    event.stopPropagation()
    onSubmit?.()
  }
  const inside = (
    <>
      <div data-dialog-part className="min-h-0 overflow-y-auto px-5 pt-4 pb-5 sm:px-6">
        {children}
      </div>
      {actions && (
        <div data-dialog-part className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3 sm:px-6">
          {actions}
        </div>
      )}
    </>
  )
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-appear bg-scrim" />
        <Radix.Content
          {...(description ? {} : { 'aria-describedby': undefined })}
          ref={noteDialog}
          onOpenAutoFocus={focusFirst}
          onCloseAutoFocus={restore}
          className={cx(
            'fixed inset-x-3 top-[max(1rem,8vh)] z-50 mx-auto flex max-h-[min(84vh,60rem)] animate-rise flex-col rounded-xl border border-line bg-raised shadow-float focus:outline-none',
            WIDTHS[size],
          )}
        >
          <div className="flex items-start justify-between gap-4 px-5 pt-4 sm:px-6">
            <div className="min-w-0 pt-1">
              <Radix.Title className="text-base font-semibold [overflow-wrap:anywhere]">{title}</Radix.Title>
              {description && <Radix.Description className="mt-1 text-sm text-muted">{description}</Radix.Description>}
            </div>
            <Radix.Close asChild>
              {/* No tooltip: where the dialog has no other control it focuses this button, and the tooltip would take its Escape. */}
              <Button
                aria-label={t('close')}
                variant="ghost"
                icon={<X />}
                size="sm"
                className="-me-2 w-8 px-0! pointer-coarse:w-10"
              />
            </Radix.Close>
          </div>
          {onSubmit ? (
            <form noValidate onSubmit={submit} className="flex min-h-0 flex-col">
              {inside}
            </form>
          ) : (
            inside
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** Not those with a tooltip: it would open with the dialog and take its Escape. */
const CONTROLS =
  ':is(a[href], button, input, select, textarea, video, audio, [tabindex="0"]):not(:disabled, [aria-label][data-state])'

/** The first control gets the focus, not the button that closes the dialog. */
function focusFirst(event: Event): void {
  const parts = (event.currentTarget as Element).querySelectorAll('[data-dialog-part]')
  const controls = [...parts].flatMap((part) => [...part.querySelectorAll<HTMLElement>(CONTROLS)])
  const first = controls.find((each) => each.tabIndex >= 0 && each.checkVisibility())
  if (!first) return
  event.preventDefault()
  first.focus()
}

type ConfirmProps = {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: string
  /** What happens, and what cannot be undone. */
  children: ReactNode
  confirmLabel: string
  /** Of the button that changes nothing, where 'Cancel' could be understood as the other one. */
  keepLabel?: string
  danger?: boolean
  /** Closes the dialog when it resolves; what it rejects with is shown. */
  onConfirm: () => Promise<unknown>
}

/** Asks before something that cannot be undone. */
export function ConfirmDialog({
  open,
  onOpenChange,
  title,
  children,
  confirmLabel,
  keepLabel,
  danger = true,
  onConfirm,
}: ConfirmProps) {
  const t = useText('kit')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const change = (next: boolean) => {
    setError(null)
    onOpenChange(next)
  }
  const confirm = async () => {
    setBusy(true)
    try {
      await onConfirm()
      change(false)
    } catch (caught) {
      setError(failureOf(caught))
    } finally {
      setBusy(false)
    }
  }
  const actions = (
    <>
      <Button onClick={() => change(false)}>{keepLabel ?? t('cancel')}</Button>
      <Button variant={danger ? 'danger' : 'primary'} busy={busy} onClick={() => void confirm()}>
        {confirmLabel}
      </Button>
    </>
  )
  return (
    <Dialog open={open} onOpenChange={change} title={title} actions={actions} size="sm">
      <div className="flex flex-col gap-3 text-sm text-muted">
        {children}
        {error !== null && <FailureNote error={error} />}
      </div>
    </Dialog>
  )
}
