import type { EntryMistake } from '../../engine-entry.ts'
import { EngineError } from '../../engine-error.ts'
import { type CapabilityOptions, capabilityMistakes, narrowCapabilities, type Protocol } from '../capabilities.ts'
import type { Capabilities, JsonValue, RenderInput, RenderMode, RenderRequest } from '../contract.ts'
import { renderMode } from '../reject-unsupported.ts'
import { fillTemplate, placeholdersIn, type TemplateValues, unknownPlaceholders } from '../template.ts'
import { listedRatio } from '../videos-api/dialects/sizes.ts'

export type Template = { [name: string]: JsonValue }
export const INPUT_MODES = ['first_frame', 'last_frame', 'both_frames', 'references'] as const
type Mode = (typeof INPUT_MODES)[number]

/** What of an entry decides the input of a render. `by_mode`: where a mode has a model, or an input, of its own. */
export type InputOptions = CapabilityOptions & {
  input: Template
  by_mode?: { [mode in Mode]?: { model?: string; input?: Template } }
  references_max?: { images?: number; videos?: number; audio?: number }
}

/** The templates' placeholders for files are the names of inputs. */
const FILES = ['first_frame', 'last_frame', 'reference_images', 'reference_videos', 'reference_audio'] as const
const RATIO = ['aspect_ratio', 'width', 'height']
const SECONDS = ['seconds', 'seconds_text']
const PLACEHOLDERS = ['prompt', ...SECONDS, ...RATIO, 'seed', ...FILES]

const PLACEHOLDER_OF: Record<RenderInput['role'], (typeof FILES)[number]> = {
  first_frame: 'first_frame',
  last_frame: 'last_frame',
  reference_image: 'reference_images',
  reference_video: 'reference_videos',
  reference_audio: 'reference_audio',
}

/** The model and the template of a render, by its mode. */
export function modelInput(options: InputOptions, request: RenderRequest): { model: string; template: Template } {
  const mode = renderMode(request)
  const own = mode === 'text' ? undefined : options.by_mode?.[mode]
  return { model: own?.model ?? request.model, template: templateOf(options, mode) }
}

/** The input of one render. Throws EngineError `rejected` for a file that the template has no place for. */
export async function fillInput(
  template: Template,
  request: RenderRequest,
  urlOf: (input: RenderInput) => Promise<string>,
): Promise<Template> {
  const names = placeholdersIn(template)
  if (request.inputs.some(({ role }) => !names.has(PLACEHOLDER_OF[role])))
    throw new EngineError('rejected', 'The template has no place for an input.', { engine_code: 'unsupported' })
  const urls = await Promise.all(request.inputs.map(async (each) => ({ role: each.role, url: await urlOf(each) })))
  const listed = (role: string) => urls.filter((each) => each.role === role).map(({ url }) => url)
  return filled(template, {
    ...plainValues(request),
    first_frame: listed('first_frame')[0],
    last_frame: listed('last_frame')[0],
    reference_images: listed('reference_image'),
    reference_videos: listed('reference_video'),
    reference_audio: listed('reference_audio'),
  })
}

/** The members of an input that hold no file: what two renders of one request have in common. */
export function plainInput(template: Template, request: RenderRequest): Template {
  return filled(template, plainValues(request))
}

/** What the templates can carry, narrowed by the entry's options. */
export function inputCapabilities(
  options: InputOptions,
  protocol: Pick<Protocol, 'media' | 'cancel' | 'idempotency'>,
): Capabilities {
  const capabilities = narrowCapabilities(carriedBy(options, protocol), options)
  const modes = new Set(capabilities.modes)
  if (!carries(options, 'both_frames')) modes.delete('both_frames')
  return { ...capabilities, modes }
}

/** Templates that cannot say what a render asks for. */
export function inputMistakes(options: InputOptions): EntryMistake[] {
  const protocol = carriedBy(options, { media: 'data_url', cancel: 'none', idempotency: 'none' })
  return [
    ...templatesOf(options).flatMap(([path, template]) => templateMistakes(options, path, template)),
    ...INPUT_MODES.filter((mode) => options.by_mode?.[mode] !== undefined && !carries(options, mode)).map((mode) => ({
      path: `by_mode.${mode}`,
      message: `Its input needs ${NEEDED[mode]}.`,
    })),
    ...capabilityMistakes(options, protocol, 'The template'),
  ]
}

const NEEDED: Record<Mode, string> = {
  first_frame: '{{first_frame}}',
  last_frame: '{{last_frame}}',
  both_frames: '{{first_frame}} and {{last_frame}}',
  references: '{{reference_images}} or {{reference_videos}}',
}

function templateMistakes(options: InputOptions, path: string, template: Template): EntryMistake[] {
  const names = placeholdersIn(template)
  const fixed = options.seconds !== undefined && options.seconds[0] === options.seconds[1]
  const mistakes = unknownPlaceholders(template, PLACEHOLDERS, path)
  if (!names.has('prompt')) mistakes.push({ path, message: 'Needs {{prompt}}.' })
  if (!fixed && !SECONDS.some((name) => names.has(name)))
    mistakes.push({ path, message: 'Needs {{seconds}}, or seconds with one length, such as [5, 5].' })
  // A clip that continues a frame has the frame's ratio.
  const ratio = path === 'input' || path.startsWith('by_mode.references')
  if (ratio && options.ratios === undefined && !RATIO.some((name) => names.has(name)))
    mistakes.push({ path, message: 'Needs {{aspect_ratio}}, or ratios, which lists those that the model renders.' })
  return mistakes
}

function templatesOf({ input, by_mode = {} }: InputOptions): Array<[path: string, template: Template]> {
  const own = INPUT_MODES.flatMap((mode): Array<[string, Template]> => {
    const template = by_mode[mode]?.input
    return template === undefined ? [] : [[`by_mode.${mode}.input`, template]]
  })
  return [['input', input], ...own]
}

function templateOf({ input, by_mode }: InputOptions, mode: RenderMode): Template {
  return (mode === 'text' ? undefined : by_mode?.[mode]?.input) ?? input
}

function carries(options: InputOptions, mode: Mode): boolean {
  const names = placeholdersIn(templateOf(options, mode))
  if (mode === 'references') return names.has('reference_images') || names.has('reference_videos')
  if (mode === 'both_frames') return names.has('first_frame') && names.has('last_frame')
  return names.has(mode)
}

function carriedBy(options: InputOptions, protocol: Pick<Protocol, 'media' | 'cancel' | 'idempotency'>): Protocol {
  const has = (mode: RenderMode, name: string) => placeholdersIn(templateOf(options, mode)).has(name)
  const inputs = FILES.filter((name) =>
    name === 'first_frame' || name === 'last_frame' ? has(name, name) : has('references', name),
  )
  const { images = 8, videos = 2, audio = 3 } = options.references_max ?? {}
  const references_max = { images, videos, audio, files: images + videos + audio }
  return { inputs: new Set(inputs), seconds: [4, 15], references_max, ...protocol }
}

function plainValues(request: RenderRequest): TemplateValues {
  const { prompt, seconds, width, height, seed } = request
  const mode = renderMode(request)
  const follows = request.aspect_ratio === 'Auto' && mode !== 'text' && mode !== 'references'
  const aspect_ratio = follows ? undefined : listedRatio(request)
  return { prompt, seconds, seconds_text: String(seconds), aspect_ratio, width, height, seed }
}

function filled(template: Template, values: TemplateValues): Template {
  return (fillTemplate(template, values) ?? {}) as Template
}
