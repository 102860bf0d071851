import { useEffect, useRef } from 'react'
import { Input } from '../../ui/form/input.tsx'

type Props = {
  value: string
  onChange: (code: string) => void
  recovery?: boolean
  autoFocus?: boolean
  /** The answer that refused the code, null for none: the next one is typed over it. */
  refused: unknown
}

/** Six digits, or a recovery code; what is pasted with spaces is taken without them. */
export function CodeInput({ value, onChange, recovery = false, autoFocus, refused }: Props) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (refused !== null) input.current?.select()
  }, [refused])
  return (
    <Input
      ref={input}
      autoFocus={autoFocus}
      inputMode={recovery ? 'text' : 'numeric'}
      autoComplete="one-time-code"
      spellCheck={false}
      autoCapitalize="none"
      maxLength={recovery ? 40 : undefined}
      value={value}
      onChange={({ target }) => onChange(recovery ? target.value : target.value.replace(/\D/g, '').slice(0, 6))}
      className="max-w-56 font-mono tracking-widest"
    />
  )
}
