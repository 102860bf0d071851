/** Whether keys are named as on a Mac: ⌘ in place of Ctrl. */
export function isApple(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.platform)
}
