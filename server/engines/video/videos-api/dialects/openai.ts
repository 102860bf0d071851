import { multipart, type Part } from '../../http/multipart.ts'
import type { VideosApiDialect } from './dialect.ts'
import { listedRatio } from './sizes.ts'

/**
 * The shape of OpenAI's Videos API, which gateways go on speaking: multipart, seconds as text, one picture the clip begins with.
 * Source: `resources/videos.ts` of https://www.npmjs.com/package/openai/v/7.55.0
 */
export const openaiDialect: VideosApiDialect = {
  inputs: new Set(['first_frame']),
  references_max: { images: 0, videos: 0, audio: 0, files: 0 },
  media: 'bytes',
  cancel: 'any',
  lists: true,
  separate_references: false,
  async start(request, { sizes }) {
    const size = sizes?.[listedRatio(request)] ?? `${request.width}x${request.height}`
    const parts: Part[] = [
      { name: 'model', text: request.model },
      { name: 'prompt', text: request.prompt },
      { name: 'seconds', text: String(request.seconds) },
      { name: 'size', text: size },
    ]
    const frame = request.inputs.find(({ role }) => role === 'first_frame')
    if (frame !== undefined) parts.push({ name: 'input_reference', file: frame, filename: 'first_frame' })
    return { body: multipart(parts) }
  },
}
