import type { ReactNode } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button } from '../button.tsx'
import { Dialog } from './dialog.tsx'

type Props = {
  title: string
  description?: string
  size?: 'sm' | 'md'
  submitLabel: string
  danger?: boolean
  /** Everything that must be given is. */
  ready: boolean
  busy: boolean
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}

/** A dialog that asks for something and sends it: by its button or Enter, once it is ready, and once at a time. */
export function FormDialog(props: Props) {
  const { title, description, size, submitLabel, danger, ready, busy, onSubmit, onClose, children } = props
  const t = useText('kit')
  const actions = (
    <>
      <Button onClick={onClose}>{t('cancel')}</Button>
      <Button type="submit" variant={danger ? 'danger' : 'primary'} busy={busy} disabled={!ready}>
        {submitLabel}
      </Button>
    </>
  )
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      {...{ title, description, size, actions }}
      onSubmit={() => ready && !busy && onSubmit()}
    >
      {children}
    </Dialog>
  )
}
