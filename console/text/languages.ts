import { request } from '../api/request.ts'
import { addTexts, isLoaded, type Language, languageNow, type Namespace, setLanguage } from './use-text.ts'

/** Languages by their own names. */
export const LANGUAGES: ReadonlyArray<{ value: Language; label: string }> = [
  { value: 'en', label: 'English' },
  { value: 'ja', label: '日本語' },
]

const KEY = 'kinora.language'
/** One chunk for each language and namespace, so that texts load only with their page. */
const FILES = import.meta.glob<{ default: object }>(['./en/*.ts', './ja/*.ts'])
/** What any page may use. */
const EVERYWHERE: readonly Namespace[] = ['errors', 'kit', 'shell']

const used = new Set<Namespace>(EVERYWHERE)

/** Loads the texts every page may use, in the language that `first-paint.js` found. */
export async function openTexts(): Promise<void> {
  const language = document.documentElement.lang === 'ja' ? 'ja' : 'en'
  await fetchTexts(language, EVERYWHERE)
  setLanguage(language)
}

/** A page together with its texts. Rejects when either does not load. */
export async function withTexts<T>(namespace: Namespace, page: Promise<T>): Promise<T> {
  used.add(namespace)
  const texts = fetchTexts(languageNow(), [namespace])
  const [module] = await Promise.all([page, texts]).catch(async (error: unknown) => {
    // The router reloads the page when a chunk is missing. If the service is down that would leave an empty window: report that instead.
    await request('GET', '/console/site')
    throw error
  })
  return module
}

/** The URL of a page that the service renders, in the console's language; any other URL unchanged. */
export function inLanguage(url: string): string {
  const { origin, pathname } = new URL(url, location.origin)
  if (origin !== location.origin || (pathname !== '/docs' && pathname !== '/terms')) return url
  return `${url}?lang=${languageNow()}`
}

/** Switches the language of the console and stores the choice in this browser. */
export async function changeLanguage(language: Language): Promise<void> {
  await fetchTexts(language, [...used])
  setLanguage(language)
  document.documentElement.lang = language
  try {
    localStorage.setItem(KEY, language)
  } catch {
    // Storage is unavailable: the choice lasts as long as the page.
  }
}

async function fetchTexts(language: Language, namespaces: readonly Namespace[]): Promise<void> {
  const missing = namespaces.filter((namespace) => !isLoaded(language, namespace))
  await Promise.all(
    missing.map(async (namespace) => {
      const texts = await FILES[`./${language}/${namespace}.ts`]!()
      addTexts(language, namespace, texts.default)
    }),
  )
}
