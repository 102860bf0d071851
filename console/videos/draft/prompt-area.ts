/** The field in which the prompt is written. */
function promptArea(): HTMLTextAreaElement | null {
  return document.querySelector('textarea[name=prompt]')
}

/** Replaces a part of the prompt, by default the selection, in one step that the browser can undo. `onChange` is for those that cannot. */
export function insertIntoPrompt(
  text: string,
  onChange: (prompt: string) => void,
  place?: { from: number; to: number },
) {
  const area = promptArea()
  if (!area) return
  const isNew = document.activeElement !== area && area.selectionStart === 0 && area.selectionEnd === 0
  const end = area.value.length
  const { from, to } = place ?? (isNew ? { from: end, to: end } : { from: area.selectionStart, to: area.selectionEnd })
  area.focus()
  area.setSelectionRange(from, to)
  // Deprecated, but the only way that keeps the undo history.
  if (!document.execCommand('insertText', false, text))
    onChange(area.value.slice(0, from) + text + area.value.slice(to))
}

/** The same for a name, with spaces around it where words are written with them. */
export function insertName(name: string, onChange: (prompt: string) => void): void {
  const area = promptArea()
  if (!area) return
  const [before, after] = [area.value[area.selectionStart - 1] ?? '', area.value[area.selectionEnd] ?? '']
  const [left, right] = [/[\p{Script=Latin}\p{N}.,!?>]/u.test(before), /[\p{Script=Latin}\p{N}<]/u.test(after)]
  insertIntoPrompt(`${left ? ' ' : ''}${name}${right ? ' ' : ''}`, onChange)
}

/** Selects a part of the prompt, so that it is seen. */
export function showInPrompt({ from, to }: { from: number; to: number }): void {
  const area = promptArea()
  area?.focus()
  area?.setSelectionRange(from, to)
}
