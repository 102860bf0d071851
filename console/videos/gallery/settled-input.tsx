import { type ComponentProps, useEffect, useRef, useState } from 'react'
import { Input } from '../../ui/form/input.tsx'

const SETTLED_MS = 250

type SettledProps = Omit<ComponentProps<typeof Input>, 'value' | 'onChange'> & {
  value: string
  /** Called with what is typed, once the person pauses. */
  onSettle: (text: string) => void
}

/** An input whose value is asked for once its person pauses, and not while they choose Japanese characters. */
export function SettledInput({ value, onSettle, ...rest }: SettledProps) {
  const [typed, setTyped] = useState(value)
  const [composing, setComposing] = useState(false)
  const settled = useRef(value)
  const settle = useRef(onSettle)
  settle.current = onSettle
  useEffect(() => {
    if (value === settled.current) return
    settled.current = value
    setTyped(value)
  }, [value])
  useEffect(() => {
    const text = typed.trim()
    if (composing || text === settled.current) return
    const timer = setTimeout(() => {
      settled.current = text
      settle.current(text)
    }, SETTLED_MS)
    return () => clearTimeout(timer)
  }, [typed, composing])
  return (
    <Input
      {...rest}
      value={typed}
      onChange={({ target }) => setTyped(target.value)}
      onCompositionStart={() => setComposing(true)}
      onCompositionEnd={() => setComposing(false)}
    />
  )
}
