/**
 * What is used of a video model of the AI SDK, as its packages have it in version 4 of the interface.
 * Source: https://github.com/vercel/ai/tree/main/packages/provider/src/video-model/v4
 */
export type AiSdkVideoModel = {
  specificationVersion: string
  /** Both are optional in the interface: a package without them can only render within one call. */
  doStart?(options: StartOptions): PromiseLike<{ operation: unknown; warnings?: readonly unknown[] }>
  doStatus?(options: { operation: unknown; abortSignal?: AbortSignal }): PromiseLike<VideoModelStatus>
}

export type StartOptions = {
  prompt: string
  n: number
  aspectRatio: string | undefined
  resolution: string | undefined
  duration: number
  fps: number | undefined
  seed: number | undefined
  image: undefined
  frameImages: Array<{ image: File; frameType: 'first_frame' | 'last_frame' }> | undefined
  inputReferences: File[] | undefined
  generateAudio: boolean | undefined
  providerOptions: Record<string, Record<string, unknown>>
  headers?: Record<string, string>
  abortSignal?: AbortSignal
}

export type File =
  | { type: 'file'; mediaType: string; data: Uint8Array }
  | { type: 'url'; url: string; mediaType: string }

export type Video =
  | { type: 'url'; url: string }
  | { type: 'base64'; data: string }
  | { type: 'binary'; data: Uint8Array }
  | { type: 'uploaded' }

export type VideoModelStatus =
  | { status: 'pending' }
  | { status: 'completed'; videos: readonly Video[] }
  | { status: 'error'; error: string }
