import type { ProbeResult } from '../../media/probe/probe.ts'
import type { EngineError } from '../engine-error.ts'

export const ASPECT_RATIOS = ['Auto', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16'] as const
export type AspectRatio = (typeof ASPECT_RATIOS)[number]

/** Anything that JSON can carry. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }

/** What an engine needs to find a render again: written to the job before anything else happens, read back after a restart. */
export type Ticket = JsonValue

export type RenderMode = 'text' | 'first_frame' | 'last_frame' | 'both_frames' | 'references'

/** What one model of an engine can take. What it cannot is refused when the job is created. */
export type Capabilities = {
  modes: ReadonlySet<RenderMode>
  /** `files` counts all references together. */
  references_max: { images: number; videos: number; audio: number; files: number }
  seconds: readonly [min: number, max: number]
  aspect_ratios: ReadonlySet<AspectRatio>
  auto_aspect_ratio: boolean
  /** How inputs are handed over. */
  media: 'bytes' | 'data_url' | 'signed_url'
  audio_out: boolean
  cancel: 'none' | 'queued' | 'any'
  /** What the engine offers so that a start whose outcome is unknown is not repeated blindly. */
  idempotency: 'client_id' | 'header' | 'none'
  /** Renders run in this process and end with it: every restart of the service loses them. */
  embedded?: true
}

export type InputRole = 'first_frame' | 'last_frame' | 'reference_image' | 'reference_video' | 'reference_audio'

export type RenderInput = {
  role: InputRole
  media_type: string
  size_bytes: number
  probe: ProbeResult
  open(): Promise<ReadableStream<Uint8Array>>
  /** Valid for `ttl_seconds` (default: the model's entry), and no longer than the job. */
  signedUrl(ttl_seconds?: number): Promise<string>
}

export type RenderRequest = {
  job_id: string
  /** Chosen by the host, one per attempt: an engine with `client_id` idempotency uses it as its own id. */
  attempt_id: string
  model: string
  /** For the engine: translated where that was needed. */
  prompt: string
  /** As submitted: what `storyboard` draws. */
  original_prompt: string
  seconds: number
  aspect_ratio: AspectRatio
  /** Pixels of the finished clip, `Auto` already resolved. */
  width: number
  height: number
  seed: number
  inputs: readonly RenderInput[]
}

export type RenderState =
  /** The engine's own queue included. `progress` is 0 to 99. `unknown_status`: its word that is not known, printable, up to 64 characters. */
  | { state: 'running'; progress?: number; next_poll_seconds?: number; unknown_status?: string }
  /** `output` is opaque to the host and may be fetched again. */
  | { state: 'succeeded'; output: JsonValue }
  /** The engine's verdict on the render. */
  | { state: 'failed'; error: EngineError }
  /** The engine no longer knows the ticket. */
  | { state: 'lost' }

/** What became of a start that was not answered. */
export type Recovery =
  /** `certain`: by a mark that is this attempt's alone; otherwise by what equal requests have in common. */
  | { found: Ticket; certain: boolean }
  /** Only the host can know which of them is this request's, and it does not. */
  | 'several'
  /** The engine's list would show the render, and does not. */
  | 'absent'
  /** The engine cannot know. */
  | 'unknown'

export type RecoverOptions = {
  /** When the attempt began. */
  since: Date
  /** Of these renders, named as by `renderKey`, those that other jobs have. */
  taken(render_keys: readonly string[]): Promise<ReadonlySet<string>>
}

/**
 * One video engine. It starts and reports; the host owns time, retries and storage.
 * A thrown `EngineError` means that the call failed and nothing is known about the render; a returned `failed`, that the render failed.
 */
export type VideoEngine = {
  capabilities(model: string): Capabilities
  /** How long it may take is for the engine to decide: `signal` sets no limit. */
  start(request: RenderRequest, signal: AbortSignal): Promise<Ticket>
  /** After a start whose outcome is unknown: looks for its render among those begun since, leaving out what other jobs have. */
  recover?(request: RenderRequest, options: RecoverOptions): Promise<Recovery>
  /**
   * Equal for requests whose renders the engine's list could not distinguish, and different for different lists; null where the engine
   * has none. Such starts are made one at a time.
   */
  listKey?(request: RenderRequest): string | null
  /** Names the render for everybody who reaches it, by whatever entry of the configuration. Absent where no two jobs can meet. */
  renderKey?(ticket: Ticket): string
  /** What became of the render. Throws EngineError `permanent` for a ticket that is not this engine's, null included. */
  poll(ticket: Ticket, signal: AbortSignal): Promise<RenderState>
  fetch(ticket: Ticket, output: JsonValue, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>
  /** True when the engine will stop, or has nothing to stop; false when the render goes on. Throws when the engine cannot be asked. */
  cancel(ticket: Ticket, signal?: AbortSignal): Promise<boolean>
  /** Ends what the engine holds in this process (children, sockets). */
  close?(): Promise<void>
}
