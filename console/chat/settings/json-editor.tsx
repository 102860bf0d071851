import { useRef } from 'react'
import { cx } from '../../ui/class-names.ts'
import { useFieldProps } from '../../ui/form/field.tsx'

type JsonEditorProps = {
  value: string
  onChange: (value: string) => void
  /** The line at fault, from 1. */
  wrong_line: number | null
  placeholder?: string
}

/** A text of JSON with its lines numbered, inside a `Field`. */
export function JsonEditor({ value, onChange, wrong_line, placeholder }: JsonEditorProps) {
  const numbers = useRef<HTMLDivElement>(null)
  const lines = value.split('\n').length
  const look = 'py-3 font-mono text-[0.8125rem] leading-5'
  return (
    <div className="flex h-80 min-h-0 overflow-hidden rounded-lg border border-control/60 bg-raised shadow-raised focus-within:border-accent focus-within:outline-2 focus-within:outline-accent/50 has-aria-invalid:border-danger">
      <div
        ref={numbers}
        aria-hidden
        className={cx(look, 'w-11 shrink-0 overflow-hidden border-e border-line bg-sunken text-end text-muted')}
      >
        {Array.from({ length: lines }, (_, i) => (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number.
            key={i}
            className={cx('px-2', wrong_line === i + 1 && 'bg-danger-soft font-semibold text-danger')}
          >
            {i + 1}
          </div>
        ))}
      </div>
      <textarea
        {...useFieldProps()}
        value={value}
        placeholder={placeholder}
        wrap="off"
        spellCheck={false}
        autoCapitalize="off"
        autoCorrect="off"
        onChange={({ target }) => onChange(target.value)}
        onScroll={({ currentTarget }) => {
          if (numbers.current) numbers.current.scrollTop = currentTarget.scrollTop
        }}
        className={cx(look, 'min-w-0 grow resize-none overflow-auto bg-transparent px-3 outline-none')}
      />
    </div>
  )
}
