export type Theme = 'light' | 'dark' | 'system'

const KEY = 'kinora.theme'

export function readTheme(): Theme {
  const chosen = document.documentElement.dataset.theme
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}

/** Applies and keeps the choice; `first-paint.js` applies it again on the next visit. */
export function writeTheme(theme: Theme): void {
  const { dataset } = document.documentElement
  if (theme === 'system') delete dataset.theme
  else dataset.theme = theme
  try {
    if (theme === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme)
  } catch {
    // Storage is closed to us: the choice lasts as long as the page.
  }
}
