import type { TFunction } from 'i18next'
import { useTranslation } from 'react-i18next'
import type en from './en.ts'

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'kit'
    nsSeparator: false
    resources: typeof en
  }
}

export type Namespace = keyof typeof en

/** The texts of one namespace in the reader's language: `const t = useText('videos')`, then `t('title')`. */
export function useText<N extends Namespace>(namespace: N): TFunction<N> {
  return useTranslation(namespace).t as TFunction<N>
}
