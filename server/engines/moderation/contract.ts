export type ModerationInput = {
  text: string
  /** Judged together with the text; null for a text alone. */
  image: { media_type: string; bytes: Uint8Array } | null
  purpose: 'video_prompt'
}

/** An engine's explicit verdict. `categories` are the engine's own names; `engine` and `version` go into the moderation record. */
export type ModerationResult = {
  verdict: 'allow' | 'block'
  categories: string[]
  engine: string
  version: string
}

/**
 * Judges a text, with a picture or without. Only an explicit `allow` ever moves a job on: an adapter throws `EngineError` for anything it
 * could not read as a verdict.
 */
export type ModerationEngine = {
  /** True when the engine looks at `image`. The host bounds how many calls are made at a time. */
  sees_images: boolean
  /** What becomes of media that nobody can judge where `moderation.media` is not set: let through, or refused at creation. */
  media: 'allow' | 'block'
  moderate(input: ModerationInput, signal: AbortSignal): Promise<ModerationResult>
  /** Ends what the engine holds in this process (sockets). */
  close?(): Promise<void>
}
