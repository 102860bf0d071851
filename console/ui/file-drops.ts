/** A file that is dropped beside a field for files is ignored, where the browser would show it in place of the page. */
export function ignoreStrayFiles(): void {
  for (const type of ['dragover', 'drop'] as const)
    addEventListener(type, (event) => {
      const { target, dataTransfer, defaultPrevented } = event
      if (defaultPrevented || !dataTransfer?.types.includes('Files')) return
      if (target instanceof HTMLInputElement && target.type === 'file') return
      event.preventDefault()
      dataTransfer.dropEffect = 'none'
    })
}
