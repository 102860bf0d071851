import Type from 'typebox'
import { EngineError } from '../engine-error.ts'
import type { TranslationEngine } from './contract.ts'

export const NoneOptions = Type.Object({ kind: Type.Literal('none') }, { additionalProperties: false })

/** No translator: prompts that are not Japanese pass, Japanese ones fail with `translation_unavailable`. */
export function noTranslation(): TranslationEngine {
  return {
    available: false,
    async translate() {
      throw new EngineError('permanent', 'No translation engine is configured.')
    },
  }
}
