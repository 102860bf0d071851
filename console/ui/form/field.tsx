import { Label } from 'radix-ui'
import { createContext, type ReactNode, useContext, useId } from 'react'
import { cx } from '../class-names.ts'

type FieldIds = { id: string; describedBy: string | undefined; invalid: boolean; required: boolean }
const FieldContext = createContext<FieldIds | null>(null)

type FieldProps = {
  label: ReactNode
  /** Said below the control. */
  hint?: ReactNode
  /** What is wrong with it; takes the place of nothing, so that the page does not jump more than its line. */
  error?: string | null
  required?: boolean
  /** Stands at the right of the label: a counter, a link. */
  aside?: ReactNode
  hideLabel?: boolean
  className?: string
  children: ReactNode
}

/** Label, control, hint and error of one input. Controls of the kit inside it find their ids by themselves. */
export function Field({ label, hint, error, required = false, aside, hideLabel, className, children }: FieldProps) {
  const id = useId()
  const describedBy = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(' ') || undefined
  return (
    <FieldContext value={{ id, describedBy, invalid: Boolean(error), required }}>
      <div className={cx('flex min-w-0 flex-col gap-1.5', className)}>
        <div className={cx('flex items-baseline justify-between gap-3', hideLabel && 'sr-only')}>
          <Label.Root htmlFor={id} id={`${id}-label`} className="text-[0.8125rem] font-medium">
            {label}
          </Label.Root>
          {aside && <span className="text-xs text-muted">{aside}</span>}
        </div>
        {children}
        {error && (
          <p id={`${id}-error`} role="alert" className="text-[0.8125rem] text-danger">
            {error}
          </p>
        )}
        {hint && (
          <p id={`${id}-hint`} className="text-[0.8125rem] text-muted">
            {hint}
          </p>
        )}
      </div>
    </FieldContext>
  )
}

/** The props that a `Field` passes to the control inside it; empty outside one. */
export function useFieldProps() {
  const field = useContext(FieldContext)
  if (!field) return {}
  return {
    id: field.id,
    'aria-describedby': field.describedBy,
    'aria-invalid': field.invalid || undefined,
    'aria-required': field.required || undefined,
  }
}

/** The id of the label around, for controls that are not labelable elements. */
export function useFieldLabel(): string | undefined {
  const field = useContext(FieldContext)
  return field ? `${field.id}-label` : undefined
}
