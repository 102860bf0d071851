export type TranslationInput = {
  /** Masked text: placeholders `⟦K0⟧`, `⟦K1⟧` … stand for what must not be translated. */
  text: string
  /** What was wrong with the previous answer, when this is the second try. */
  violation?: string
}

/** `depicted_text`: unquoted text that should appear in the picture and was copied as it was, each a substring of source and result. */
export type TranslationResult = { translation: string; depicted_text: string[] }

/** Translates a Japanese prompt to English. Throws `EngineError` when it cannot; the host masks, verifies and restores. */
export type TranslationEngine = {
  /** False for `none`: Japanese prompts fail without asking. */
  available: boolean
  translate(input: TranslationInput, signal: AbortSignal): Promise<TranslationResult>
  /** Ends what the engine holds in this process (sockets). */
  close?(): Promise<void>
}
