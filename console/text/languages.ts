import i18next from 'i18next'
import { initReactI18next } from 'react-i18next'

export type Language = 'en' | 'ja'

/** Languages by their own names. */
export const LANGUAGES: ReadonlyArray<{ value: Language; label: string }> = [
  { value: 'en', label: 'English' },
  { value: 'ja', label: '日本語' },
]

const KEY = 'kinora.language'
const SOURCES = { en: () => import('./en.ts'), ja: () => import('./ja.ts') }

/** Loads the texts of the reader's language, found by `first-paint.js`. */
export async function openTexts(): Promise<void> {
  const language = document.documentElement.lang === 'ja' ? 'ja' : 'en'
  const texts = await SOURCES[language]()
  await i18next.use(initReactI18next).init({
    lng: language,
    resources: { [language]: texts.default },
    defaultNS: 'kit',
    nsSeparator: false,
    interpolation: { escapeValue: false },
    returnNull: false,
  })
}

/** Shows the console in another language and keeps the choice in this browser. */
export async function changeLanguage(language: Language): Promise<void> {
  const texts = await SOURCES[language]()
  for (const [namespace, entries] of Object.entries(texts.default))
    i18next.addResourceBundle(language, namespace, entries)
  await i18next.changeLanguage(language)
  document.documentElement.lang = language
  try {
    localStorage.setItem(KEY, language)
  } catch {
    // Storage is closed to us: the choice lasts as long as the page.
  }
}
