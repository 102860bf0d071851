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
  /** True when the engine looks at `images`; when false the host decides by `media` what happens to pictures it cannot see. */
  sees_images: boolean
  /** What happens to media when `sees_images` is false: `allow` skips them, `block` fails the job `moderation_unavailable`. */
  media: 'allow' | 'block'
  moderate(input: ModerationInput, signal: AbortSignal): Promise<ModerationResult>
  /** Ends what the engine holds in this process (sockets). */
  close?(): Promise<void>
}
