import { Monitor, Moon, Sun } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { changeLanguage, LANGUAGES, type Language } from '../text/languages.ts'
import { useText } from '../text/use-text.ts'
import { Segmented } from './form/choice.tsx'
import { Select } from './form/input.tsx'
import { readTheme, type Theme, writeTheme } from './theme.ts'

/** Light, dark, or as the system is. Kept in this browser. */
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

/** Each language by its own name. Kept in this browser. */
export function LanguageSwitch({ className }: { className?: string }) {
  const t = useText('kit')
  const { i18n } = useTranslation()
  return (
    <Select
      aria-label={t('language')}
      className={className}
      value={i18n.language as Language}
      onChange={(next) => void changeLanguage(next)}
      options={LANGUAGES}
    />
  )
}
