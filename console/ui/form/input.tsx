import { ChevronDown, Eye, EyeOff } from 'lucide-react'
import {
  type InputHTMLAttributes,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useState,
} from 'react'
import { useText } from '../../text/use-text.ts'
import { cx } from '../class-names.ts'
import { useFieldProps } from './field.tsx'

export const CONTROL =
  'w-full min-w-0 rounded-lg border border-control/60 bg-raised px-3 text-base sm:text-sm text-ink shadow-raised transition-colors hover:border-control focus:border-accent focus-visible:outline-2 focus-visible:outline-offset-0 focus-visible:outline-accent/50 disabled:cursor-not-allowed disabled:opacity-60 aria-invalid:border-danger'
const LINE = 'h-9 pointer-coarse:h-11'

export function Input({ className, ...rest }: InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  return <input {...useFieldProps()} {...rest} className={cx(CONTROL, LINE, className)} />
}

/** A password field that can show what is typed. */
export function PasswordInput({
  className,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  const t = useText('kit')
  const [shown, setShown] = useState(false)
  const Icon = shown ? EyeOff : Eye
  return (
    <div className="relative">
      <Input {...rest} type={shown ? 'text' : 'password'} className={cx('pe-10', className)} />
      <button
        type="button"
        aria-pressed={shown}
        aria-label={t('show_password')}
        onClick={() => setShown(!shown)}
        className="absolute inset-y-0 end-0 grid w-10 place-items-center rounded-lg text-muted hover:text-ink"
      >
        <Icon className="size-4" />
      </button>
    </div>
  )
}

/** Grows with its text. */
export function Textarea({
  className,
  rows = 3,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: Ref<HTMLTextAreaElement> }) {
  return (
    <textarea
      {...useFieldProps()}
      rows={rows}
      {...rest}
      className={cx(CONTROL, 'field-sizing-content min-h-20 max-h-[60vh] resize-y py-2', className)}
    />
  )
}

export type Option<V extends string = string> = { value: V; label: string; disabled?: boolean }
type SelectProps<V extends string> = Omit<SelectHTMLAttributes<HTMLSelectElement>, 'value' | 'onChange'> & {
  value: V
  options: ReadonlyArray<Option<V>>
  onChange: (value: V) => void
}

/** The browser's own list: quick, known to everybody's hands and screen readers, native on phones. */
export function Select<V extends string>({ value, options, onChange, className, ...rest }: SelectProps<V>) {
  return (
    <div className={cx('relative min-w-0', className)}>
      <select
        {...useFieldProps()}
        {...rest}
        value={value}
        onChange={(event) => onChange(event.target.value as V)}
        className={cx(CONTROL, LINE, 'appearance-none truncate pe-9')}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled} className="bg-raised text-ink">
            {option.label}
          </option>
        ))}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute end-3 top-1/2 size-4 -translate-y-1/2 text-muted"
      />
    </div>
  )
}
