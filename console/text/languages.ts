import { request } from '../api/request.ts'
import { addTexts, isLoaded, type Language, languageNow, type Namespace, setLanguage } from './use-text.ts'

/** Languages by their own names. */
export const LANGUAGES: ReadonlyArray<{ value: Language; label: string }> = [
  { value: 'en', label: 'English' },
  { value: 'ja', label: '日本語' },
]

const KEY = 'kinora.language'
/** One chunk for each language and namespace, so that texts load only with their page. */
const OF_PAGES = import.meta.glob<{ default: object }>([
  './*/*.ts',
  './*/videos/{clips,help,repeat,sharing,waiting}.ts',
  '!./*/{everywhere,errors,kit,shell}.ts',
])
/** And one for each language with those that any page may use. */
const EVERYWHERE = import.meta.glob<{ default: object }>('./*/everywhere.ts')

const used = new Set<Namespace>()
/** The last choice, whose texts may still be loading. */
let chosen: Language | null = null

/** Loads the texts every page may use, in the language that `first-paint.js` found. */
export async function openTexts(): Promise<void> {
  const language = document.documentElement.lang === 'ja' ? 'ja' : 'en'
  await fetchTexts(language)
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
  chosen = language
  // A page that opens meanwhile loads its texts in the language before.
  do await fetchTexts(language)
  while ([...used].some((namespace) => !isLoaded(language, namespace)))
  if (chosen !== language) return
  setLanguage(language)
  document.documentElement.lang = language
  try {
    localStorage.setItem(KEY, language)
  } catch {
    // Storage is unavailable: the choice lasts as long as the page.
  }
}

/** Those of pages that were shown, unless others are named, and those that any page may use. */
async function fetchTexts(language: Language, namespaces: readonly Namespace[] = [...used]): Promise<void> {
  const loading = namespaces
    .filter((namespace) => !isLoaded(language, namespace))
    .map(async (namespace) => {
      const texts = await OF_PAGES[`./${language}/${namespace}.ts`]!()
      addTexts(language, namespace, texts.default)
    })
  await Promise.all([isLoaded(language, 'shell') || addEverywhere(language), ...loading])
}

async function addEverywhere(language: Language): Promise<void> {
  const texts = await EVERYWHERE[`./${language}/everywhere.ts`]!()
  for (const [namespace, each] of Object.entries(texts.default)) addTexts(language, namespace as Namespace, each)
}
