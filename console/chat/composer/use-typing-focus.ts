import { type RefObject, useEffect } from 'react'

/** Typing while nothing that takes text or keys has the focus writes into `input`: one need not click there first. */
export function useTypingFocus(input: RefObject<HTMLTextAreaElement | null>): void {
  useEffect(() => {
    const onKeyDown = ({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent) => {
      const types = key.length === 1 && key !== ' ' && !ctrlKey && !metaKey && !altKey
      if (types && target instanceof Element && target.matches('body, main, h1')) input.current?.focus()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [input])
}
