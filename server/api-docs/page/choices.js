// Runs before anything is painted: the theme and the language that were chosen here or in the console, which stores them by these names.
;(() => {
  const root = document.documentElement
  const read = (name) => {
    try {
      return localStorage.getItem(name)
    } catch {
      return null
    }
  }
  const write = (name, value) => {
    try {
      if (value === null) localStorage.removeItem(name)
      else localStorage.setItem(name, value)
    } catch {
      // Storage is unavailable: the choice lasts as long as the page.
    }
  }
  const showTheme = (theme) => {
    const known = theme === 'light' || theme === 'dark'
    if (known) root.dataset.theme = theme
    else delete root.dataset.theme
    for (const button of document.querySelectorAll('button[value]'))
      button.setAttribute('aria-pressed', String(button.value === (known ? theme : 'system')))
  }
  /** Times are in UTC until they are shown where the reader is. */
  const showTimes = () => {
    const day = { year: 'numeric', month: 'long', day: 'numeric' }
    const format = new Intl.DateTimeFormat(root.lang, {
      ...day,
      hour: 'numeric',
      minute: '2-digit',
      timeZoneName: 'short',
    })
    for (const time of document.querySelectorAll('time[data-local]'))
      time.textContent = format.format(new Date(time.dateTime))
  }
  const showLanguage = (language) => {
    if ((language !== 'en' && language !== 'ja') || language === root.lang) return
    const url = new URL(location.href)
    url.searchParams.set('lang', language)
    location.replace(url)
  }
  showTheme(read('kinora.theme'))
  // An address that names a language is shown in it.
  if (!new URLSearchParams(location.search).has('lang')) showLanguage(read('kinora.language'))
  addEventListener('storage', ({ key, newValue }) => {
    if (key === 'kinora.theme') showTheme(newValue)
    if (key === 'kinora.language') showLanguage(newValue)
  })
  addEventListener('DOMContentLoaded', () => {
    const themes = document.querySelector('.themes')
    themes.hidden = false
    themes.addEventListener('click', ({ target }) => {
      if (!target.value) return
      write('kinora.theme', target.value === 'system' ? null : target.value)
      showTheme(target.value)
    })
    showTheme(root.dataset.theme ?? null)
    showTimes()
    for (const link of document.querySelectorAll('a[hreflang]'))
      link.addEventListener('click', () => write('kinora.language', link.hreflang))
  })
})()
