/** The field in which the prompt is written. */
function promptArea(): HTMLTextAreaElement | null {
  return document.querySelector('textarea[name=prompt]')
}

/** Focuses the end of the prompt, and brings the form into the window. */
export function focusPrompt(): void {
  const area = promptArea()
  area?.focus({ preventScroll: true })
  area?.setSelectionRange(area.value.length, area.value.length)
  area?.closest('section')?.scrollIntoView({ block: 'nearest' })
  area?.scrollIntoView({ block: 'nearest' })
}

type Place = { from: number; to: number }

/** Replaces a part of the prompt in one step that the browser can undo. `onChange` is for those that cannot. */
export function insertIntoPrompt(text: string, onChange: (prompt: string) => void, { from, to }: Place) {
  const area = promptArea()
  if (!area) return
  area.focus()
  area.setSelectionRange(from, to)
  // Deprecated, but the only way that keeps the undo history.
  if (!document.execCommand('insertText', false, text))
    onChange(area.value.slice(0, from) + text + area.value.slice(to))
}

/** Puts a name in place of the selection, with spaces around it where words are written with them. */
export function insertName(name: string, onChange: (prompt: string) => void): void {
  const area = promptArea()
  if (!area) return
  const place = placeIn(area)
  const [before, after] = [area.value[place.from - 1] ?? '', area.value[place.to] ?? '']
  const [left, right] = [/[\p{Script=Latin}\p{N}.,!?>]/u.test(before), /[\p{Script=Latin}\p{N}<]/u.test(after)]
  insertIntoPrompt(`${left ? ' ' : ''}${name}${right ? ' ' : ''}`, onChange, place)
}

/** The selection, and the end where nobody has been in the field yet. */
function placeIn(area: HTMLTextAreaElement): Place {
  const isNew = document.activeElement !== area && area.selectionStart === 0 && area.selectionEnd === 0
  const end = area.value.length
  return isNew ? { from: end, to: end } : { from: area.selectionStart, to: area.selectionEnd }
}

/** Selects part of the prompt, which scrolls it into view. */
export function showInPrompt({ from, to }: Place): void {
  const area = promptArea()
  area?.focus()
  area?.setSelectionRange(from, to)
}
