import { type ComponentProps, useEffect, useRef, useState } from 'react'
import { Input } from '../../ui/form/input.tsx'

const SETTLED_MS = 250

type SettledProps = Omit<ComponentProps<typeof Input>, 'value' | 'onChange'> & {
  value: string
  /** Called with what is typed, once the person pauses. */
  onSettle: (text: string) => void
  /** Whether it may be asked for. What may not stays in the field, marked as invalid. */
  isTaken?: (text: string) => boolean
}

/** An input whose value is asked for once its person pauses, and not while they choose Japanese characters. */
export function SettledInput({ value, onSettle, isTaken = () => true, ...rest }: SettledProps) {
  const [typed, setTyped] = useState(value)
  const [composing, setComposing] = useState(false)
  const settled = useRef(value)
  const [wrong, setWrong] = useState<string | null>(null)
  const latest = useRef({ onSettle, isTaken })
  latest.current = { onSettle, isTaken }
  useEffect(() => {
    if (value === settled.current) return
    settled.current = value
    setTyped(value)
  }, [value])
  useEffect(() => {
    const text = typed.trim()
    if (composing || text === settled.current) return
    const timer = setTimeout(() => {
      if (!latest.current.isTaken(text)) return setWrong(typed)
      settled.current = text
      latest.current.onSettle(text)
    }, SETTLED_MS)
    return () => clearTimeout(timer)
  }, [typed, composing])
  return (
    <Input
      {...rest}
      value={typed}
      aria-invalid={typed === wrong || undefined}
      onChange={({ target }) => setTyped(target.value)}
      onCompositionStart={() => setComposing(true)}
      onCompositionEnd={() => setComposing(false)}
    />
  )
}
