import { Monitor, Moon, Sun } from 'lucide-react'
import { useState } from 'react'
import { changeLanguage, LANGUAGES } from '../../text/languages.ts'
import { useLanguage, useText } from '../../text/use-text.ts'
import { Segmented } from './choice.tsx'
import { Select } from './input.tsx'

type Theme = 'light' | 'dark' | 'system'

const THEME_KEY = 'kinora.theme'

/** Light, dark or the theme of the system. Stored in this browser. */
export function ThemeSwitch() {
  const t = useText('kit')
  const [theme, setTheme] = useState<Theme>(readTheme)
  const change = (next: Theme) => {
    writeTheme(next)
    setTheme(next)
  }
  const options = [
    {
      value: 'light',
      label: <span className="sr-only">{t('theme_light')}</span>,
      icon: <Sun />,
      title: t('theme_light'),
    },
    {
      value: 'dark',
      label: <span className="sr-only">{t('theme_dark')}</span>,
      icon: <Moon />,
      title: t('theme_dark'),
    },
    {
      value: 'system',
      label: <span className="sr-only">{t('theme_system')}</span>,
      icon: <Monitor />,
      title: t('theme_system'),
    },
  ] as const
  return <Segmented label={t('theme')} value={theme} onChange={change} options={options} />
}

/** The language, each by its own name. Stored in this browser. */
export function LanguageSwitch({ className }: { className?: string }) {
  const t = useText('kit')
  return (
    <Select
      aria-label={t('language')}
      className={className}
      value={useLanguage()}
      onChange={(next) => void changeLanguage(next)}
      options={LANGUAGES}
    />
  )
}

function readTheme(): Theme {
  const chosen = document.documentElement.dataset.theme
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}

/** Applies and stores the choice; `first-paint.js` applies it on the next visit. */
function writeTheme(theme: Theme): void {
  const { dataset } = document.documentElement
  if (theme === 'system') delete dataset.theme
  else dataset.theme = theme
  try {
    if (theme === 'system') localStorage.removeItem(THEME_KEY)
    else localStorage.setItem(THEME_KEY, theme)
  } catch {
    // Storage is unavailable: the choice lasts as long as the page.
  }
}
