export type ModerationInput = {
  text: string
  images: ReadonlyArray<{ media_type: string; bytes: Uint8Array }>
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
 * Judges text and pictures. Only an explicit `allow` ever moves a job on: an adapter throws `EngineError` for anything it
 * could not read as a verdict.
 */
export type ModerationEngine = {
  /** True when the engine looks at `images`. The host sends one picture a call and bounds how many calls are made at a time. */
  sees_images: boolean
  /** What becomes of media that nobody can judge where `moderation.media` is not set: let through, or refused at creation. */
  media: 'allow' | 'block'
  moderate(input: ModerationInput, signal: AbortSignal): Promise<ModerationResult>
  /** Ends what the engine holds in this process (sockets). */
  close?(): Promise<void>
}
