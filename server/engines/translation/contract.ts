export type TranslationInput = {
  /** Masked text: placeholders `⟦K0⟧`, `⟦K1⟧` … stand for what must not be translated. */
  text: string
  /** What was wrong with the previous answers, when this is not the first try. */
  violation?: string
}

/** `depicted_text`: unquoted text that should appear in the picture and was copied as it was, each a substring of source and result. */
export type TranslationResult = { translation: string; depicted_text: string[] }

/**
 * Translates a Japanese prompt to English. Throws `EngineError` when it cannot; the host masks, verifies and restores. Each call of a
 * server or model has the adapter's own time limit: the host sets none.
 */
export type TranslationEngine = {
  /** False for `none`: Japanese prompts fail without asking. */
  available: boolean
  /** True for a translator that takes no instructions: it is never asked for a shorter version. */
  literal?: true
  translate(input: TranslationInput, signal: AbortSignal): Promise<TranslationResult>
  /** Ends what the engine holds in this process (sockets). */
  close?(): Promise<void>
}

/**
 * How many seconds more than for a sentence a call may take for this text, where the entry sets no time limit. The English of 50 Japanese
 * characters is about 25 tokens, which a language model on one small GPU writes in a second.
 */
export function secondsForLength(text: string): number {
  return Math.ceil(text.length / 50)
}
