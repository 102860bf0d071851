import type { RenderInput, RenderRequest } from '../contract.ts'
import { renderMode } from '../reject-unsupported.ts'
import type { TaskDialect } from './dialects/dialect.ts'
import type { TaskRequest } from './listed-task.ts'

/** Members of a start that not every model takes. */
export const OMITTABLE = ['ratio', 'resolution', 'generate_audio', 'seed', 'watermark'] as const
type Omittable = (typeof OMITTABLE)[number]

/** The members of a start that a list may show again, without those that the model does not take. */
export function asked(dialect: TaskDialect, request: RenderRequest, omit: readonly Omittable[] = []): TaskRequest {
  const ratio = askedRatio(request)
  const { model, seconds: duration } = request
  return { model, duration, ...without({ ...(ratio && { ratio }), ...dialect.extra(request) }, omit) } as TaskRequest
}

/** The body of a start: the prompt as its only text, then the media in their order. */
export async function writeStart(
  dialect: TaskDialect,
  request: RenderRequest,
  { resolution, omit, urlOf }: StartOptions,
): Promise<object> {
  const media = await Promise.all(
    request.inputs.map(async (input) => {
      const type = ITEM_TYPES[input.role]
      return { type, [type]: { url: await urlOf(input) }, role: input.role }
    }),
  )
  return {
    ...asked(dialect, request, omit),
    ...without({ resolution }, omit),
    content: [{ type: 'text', text: request.prompt }, ...media],
  }
}

type StartOptions = {
  resolution: string
  omit?: readonly Omittable[] | undefined
  urlOf(input: RenderInput): Promise<string>
}

function without(members: Record<string, unknown>, omit: readonly Omittable[] = []): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !omit.includes(name as Omittable)))
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
