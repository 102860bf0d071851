import { ChevronsUpDown } from 'lucide-react'
import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { useText } from '../text/use-text.ts'
import { cx } from './class-names.ts'
import { useFieldProps } from './field.tsx'
import { CONTROL, type Option } from './input.tsx'

type ComboboxProps<V extends string> = {
  value: V | null
  options: ReadonlyArray<Option<V> & { hint?: string }>
  onChange: (value: V) => void
  placeholder?: string
  label?: string
  disabled?: boolean
}

/** A choice among many, found by typing. For a few options `Select` is quicker. */
export function Combobox<V extends string>({
  value,
  options,
  onChange,
  placeholder,
  label,
  disabled,
}: ComboboxProps<V>) {
  const t = useText('kit')
  const listId = useId()
  const field = useFieldProps()
  const input = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState<string | null>(null)
  const [at, setAt] = useState(0)
  const open = typed !== null
  const found = open ? matching(options, typed) : []
  const close = () => setTyped(null)
  const choose = (option: Option<V> | undefined) => {
    if (!option || option.disabled) return
    onChange(option.value)
    close()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      if (!open) return setTyped('')
      const step = event.key === 'ArrowDown' ? 1 : -1
      setAt((at + step + found.length) % Math.max(1, found.length))
    } else if (event.key === 'Enter' && open) {
      event.preventDefault()
      choose(found[at])
    } else if (event.key === 'Escape' && open) {
      event.stopPropagation()
      close()
    }
  }
  return (
    <div className="relative min-w-0">
      <input
        {...field}
        ref={input}
        role="combobox"
        aria-label={label}
        aria-expanded={open}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={open && found[at] ? `${listId}-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        disabled={disabled}
        placeholder={placeholder}
        value={typed ?? options.find((option) => option.value === value)?.label ?? value ?? ''}
        onChange={(event) => {
          setTyped(event.target.value)
          setAt(0)
        }}
        onClick={() => {
          setTyped('')
          setAt(0)
        }}
        onBlur={close}
        onKeyDown={onKeyDown}
        className={cx(CONTROL, 'h-9 pe-9 pointer-coarse:h-11')}
      />
      <ChevronsUpDown
        aria-hidden
        className="pointer-events-none absolute end-3 top-1/2 size-4 -translate-y-1/2 text-muted"
      />
      <div
        id={listId}
        role="listbox"
        aria-label={label ?? placeholder ?? t('options')}
        className={cx(
          'absolute inset-x-0 top-full z-30 mt-1 max-h-72 animate-rise overflow-y-auto rounded-xl border border-line bg-raised p-1 shadow-float',
          !open && 'hidden',
        )}
      >
        {found.map((option, index) => (
          <ComboboxOption
            key={option.value}
            id={`${listId}-${index}`}
            option={option}
            active={index === at}
            selected={option.value === value}
            onChoose={() => choose(option)}
          />
        ))}
        {open && found.length === 0 && <p className="px-2.5 py-2 text-sm text-muted">{t('nothing_found')}</p>}
      </div>
    </div>
  )
}

type OptionProps = {
  id: string
  option: Option & { hint?: string }
  active: boolean
  selected: boolean
  onChoose: () => void
}

function ComboboxOption({ id, option, active, selected, onChoose }: OptionProps) {
  return (
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={selected}
      aria-disabled={option.disabled}
      // Pressing would take the focus from the input before the choice is made.
      onPointerDown={(event) => {
        event.preventDefault()
        onChoose()
      }}
      className={cx(
        'flex cursor-pointer items-baseline justify-between gap-3 rounded-lg px-2.5 py-1.5 text-sm hover:bg-hover aria-disabled:opacity-50 aria-selected:font-medium',
        active && 'bg-hover',
      )}
    >
      <span className="min-w-0 [overflow-wrap:anywhere]">{option.label}</span>
      {option.hint && <span className="shrink-0 text-xs text-muted">{option.hint}</span>}
    </div>
  )
}

function matching<O extends Option>(options: readonly O[], typed: string): O[] {
  const words = typed.trim().toLowerCase().split(/\s+/)
  return options.filter(({ value, label }) => words.every((word) => `${label} ${value}`.toLowerCase().includes(word)))
}
