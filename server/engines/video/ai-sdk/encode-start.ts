import { EngineError } from '../../engine-error.ts'
import type { RenderInput, RenderRequest } from '../contract.ts'
import type { File, StartOptions } from './model.ts'

type Options = {
  resolution?: string
  generate_audio?: boolean
  ratio_with_frames?: boolean
  provider_options?: Record<string, Record<string, unknown>>
  input_transport?: 'data' | 'url'
  signed_url_ttl_seconds?: number
}

/** A package holds every file in memory, encoded as text besides: all files of one render together. */
const FILES_BYTES_MAX = 48 * 1024 * 1024

/** One render as the AI SDK takes it. Throws EngineError `rejected` when its files are too large to be held in memory. */
export async function encodeStart(request: RenderRequest, options: Options): Promise<StartOptions> {
  const { prompt, seconds, aspect_ratio, inputs } = request
  const isData = options.input_transport !== 'url'
  if (isData && inputs.reduce((sum, { size_bytes }) => sum + size_bytes, 0) > FILES_BYTES_MAX)
    throw new EngineError('rejected', 'The files are larger than 48 MiB together.', { subject: 'reference_media' })
  const fileOf = (input: RenderInput) => (isData ? bytesOf(input) : urlOf(input, options.signed_url_ttl_seconds))
  const frames = inputs.filter(({ role }) => role === 'first_frame' || role === 'last_frame')
  const references = inputs.filter(({ role }) => role.startsWith('reference_'))
  const frameImages = await Promise.all(
    frames.map(async (input) => ({
      image: await fileOf(input),
      frameType: input.role as 'first_frame' | 'last_frame',
    })),
  )
  const inputReferences = await Promise.all(references.map(fileOf))
  return {
    prompt,
    n: 1,
    duration: seconds,
    generateAudio: options.generate_audio,
    aspectRatio: ratioOf(aspect_ratio, frames.length > 0 && options.ratio_with_frames === false),
    resolution: options.resolution,
    // A package that knows no seed warns of it, and nobody asked for one.
    fps: undefined,
    seed: undefined,
    image: undefined,
    frameImages: frameImages.length > 0 ? frameImages : undefined,
    inputReferences: inputReferences.length > 0 ? inputReferences : undefined,
    providerOptions: options.provider_options ?? {},
  }
}

function ratioOf(ratio: RenderRequest['aspect_ratio'], isFromFrames: boolean): string | undefined {
  if (isFromFrames) return undefined
  return ratio === 'Auto' ? 'adaptive' : ratio
}

async function bytesOf({ media_type, open }: RenderInput): Promise<File> {
  const data = new Uint8Array(await new Response(await open()).arrayBuffer())
  return { type: 'file', mediaType: media_type, data }
}

async function urlOf({ media_type, signedUrl }: RenderInput, ttl_seconds: number | undefined): Promise<File> {
  return { type: 'url', url: await signedUrl(ttl_seconds), mediaType: media_type }
}
