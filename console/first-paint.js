// Runs before anything is painted: the chosen theme and language, so that neither flashes.
;(() => {
  const root = document.documentElement
  try {
    const theme = localStorage.getItem('kinora.theme')
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme
    const language = localStorage.getItem('kinora.language')
    const spoken = language ?? (navigator.languages.find((each) => /^(en|ja)\b/.test(each)) || 'en').slice(0, 2)
    root.lang = spoken === 'ja' ? 'ja' : 'en'
  } catch {
    // Storage is unavailable: the defaults apply.
  }
})()
