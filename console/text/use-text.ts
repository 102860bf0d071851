import { useSyncExternalStore } from 'react'
import type en from './en.ts'

export type Language = 'en' | 'ja'
type Texts = typeof en
export type Namespace = keyof Texts
type Values = Readonly<Record<string, string | number | null>>

/** The keys of a namespace: `title`, `status.failed`. A text that depends on a number has one key, without `_one` and `_other`. */
type KeyOf<T> = {
  [K in keyof T & string]: T[K] extends string ? Numberless<K> : `${K}.${KeyOf<T[K]>}`
}[keyof T & string]
type Numberless<K extends string> = K | (K extends `${infer Name}_${'one' | 'other'}` ? Name : never)

/** A text with its `{{values}}`. A number named `count` chooses among `key_one` and `key_other` by the rules of the language. */
export type TextOf<N extends Namespace> = (key: KeyOf<Texts[N]>, values?: Values) => string

/** By language and namespace: stable, so that effects and memos may depend on them. */
const loaded = new Map<string, (key: string, values?: Values) => string>()
const listeners = new Set<() => void>()
let current: Language = 'en'

/** The texts of one namespace in the reader's language: `const t = useText('videos')`, then `t('title')`. */
export function useText<N extends Namespace>(namespace: N): TextOf<N> {
  return (loaded.get(`${useLanguage()} ${namespace}`) ?? keyAlone) as TextOf<N>
}

export function useLanguage(): Language {
  return useSyncExternalStore(listen, languageNow)
}

export function languageNow(): Language {
  return current
}

export function setLanguage(language: Language): void {
  current = language
  for (const listener of listeners) listener()
}

export function isLoaded(language: Language, namespace: Namespace): boolean {
  return loaded.has(`${language} ${namespace}`)
}

export function addTexts(language: Language, namespace: Namespace, texts: object): void {
  loaded.set(`${language} ${namespace}`, readerOf(language, texts))
}

/** Reads the texts of one namespace. A key without a text is its own text. */
function readerOf(language: Language, texts: object): (key: string, values?: Values) => string {
  const flat = new Map<string, string>()
  const add = (inside: object, path: string) => {
    for (const [name, value] of Object.entries(inside)) {
      if (typeof value === 'string') flat.set(path + name, value)
      else add(value, `${path}${name}.`)
    }
  }
  add(texts, '')
  const plural = new Intl.PluralRules(language)
  return (key, values = {}) => {
    const { count } = values
    const counted = typeof count === 'number' ? flat.get(`${key}_${plural.select(count)}`) : undefined
    return (counted ?? flat.get(key) ?? key).replace(/\{\{(\w+)\}\}/g, (_, name) => String(values[name] ?? ''))
  }
}

function keyAlone(key: string): string {
  return key
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
