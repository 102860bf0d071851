import type { RenderInput, RenderRequest } from '../contract.ts'
import { renderMode } from '../refuse-unsupported.ts'
import type { Dialect } from './dialects/dialect.ts'

/** The members of a start that a list may show again. */
export function asked(dialect: Dialect, request: RenderRequest) {
  const ratio = askedRatio(request)
  return { model: request.model, duration: request.seconds, ...(ratio && { ratio }), ...dialect.extra(request) }
}

/** The body of a start: the prompt as its only text, then the media in their order. */
export async function writeStart(
  dialect: Dialect,
  request: RenderRequest,
  { resolution, urlOf }: { resolution: string; urlOf(input: RenderInput): Promise<string> },
): Promise<object> {
  const media = await Promise.all(
    request.inputs.map(async (input) => {
      const type = ITEM_TYPES[input.role]
      return { type, [type]: { url: await urlOf(input) }, role: input.role }
    }),
  )
  return {
    ...asked(dialect, request),
    resolution,
    content: [{ type: 'text', text: request.prompt }, ...media],
  }
}

/** A frame decides the ratio itself. Text alone may not be `adaptive`. */
function askedRatio(request: RenderRequest): string | undefined {
  const mode = renderMode(request)
  if (mode !== 'text' && mode !== 'references') return undefined
  if (request.aspect_ratio !== 'Auto') return request.aspect_ratio
  return mode === 'text' ? '16:9' : 'adaptive'
}

const ITEM_TYPES = {
  first_frame: 'image_url',
  last_frame: 'image_url',
  reference_image: 'image_url',
  reference_video: 'video_url',
  reference_audio: 'audio_url',
} as const satisfies Record<RenderInput['role'], string>
