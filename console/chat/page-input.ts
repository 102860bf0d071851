import { type RefObject, useEffect, useRef, useState } from 'react'

/** Accepts files dropped anywhere on the page. Returns whether files are being dragged over it. */
export function useFileDrop(onFiles: (files: Iterable<File>) => void): boolean {
  const [over, setOver] = useState(false)
  const take = useRef(onFiles)
  take.current = onFiles
  useEffect(() => {
    const holdsFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') ?? false
    const onOver = (event: DragEvent) => {
      if (!holdsFiles(event)) return
      event.preventDefault()
      setOver(true)
    }
    // Also fires between elements; only when the pointer leaves the window is there no related target.
    const onLeave = ({ relatedTarget }: DragEvent) => relatedTarget === null && setOver(false)
    const onDrop = (event: DragEvent) => {
      if (!holdsFiles(event)) return
      event.preventDefault()
      setOver(false)
      take.current([...(event.dataTransfer?.files ?? [])])
    }
    window.addEventListener('dragover', onOver)
    window.addEventListener('dragleave', onLeave)
    window.addEventListener('drop', onDrop)
    return () => {
      window.removeEventListener('dragover', onOver)
      window.removeEventListener('dragleave', onLeave)
      window.removeEventListener('drop', onDrop)
    }
  }, [])
  return over
}

/** Without another keyboard than that of the screen, which covers half of it as soon as a field has the focus. */
export function hasTouchKeyboard(): boolean {
  return matchMedia('(hover: none) and (pointer: coarse)').matches
}

/**
 * A new conversation begins with the focus in `input`, unless that would open the keyboard of the screen. Typing while no control has the
 * focus writes there, so that one need not click first.
 */
export function useTypingFocus(input: RefObject<HTMLTextAreaElement | null>, is_new: boolean): void {
  const begins = useRef(is_new)
  useEffect(() => {
    if (begins.current && !hasTouchKeyboard()) input.current?.focus({ preventScroll: true })
  }, [input])
  useEffect(() => {
    const onKeyDown = ({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent) => {
      const types = key.length === 1 && key !== ' ' && !ctrlKey && !metaKey && !altKey
      if (types && target instanceof Element && target.matches('body, main, h1')) input.current?.focus()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [input])
}
