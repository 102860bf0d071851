import { ASPECT_RATIOS } from '../../engines/video/contract.ts'
import { ApiError } from '../../platform/errors.ts'
import { isRecord } from '../../platform/json/record.ts'
import { supportedValues } from '../../platform/schema/explain.ts'

/** Sizes of OpenAI's videos API. Source: https://platform.openai.com/docs/api-reference/videos/create */
export const RATIO_BY_SIZE: Readonly<Record<string, (typeof ASPECT_RATIOS)[number]>> = {
  '720x1280': '9:16',
  '1280x720': '16:9',
  '1024x1792': '9:16',
  '1792x1024': '16:9',
}
/** What that API takes when a body does not say. */
const DEFAULT_SIZE = '720x1280'
const DEFAULT_SECONDS = 4

/** Whether a body has the shape of OpenAI's videos API: a size or a first frame, and no aspect ratio. */
export function isOpenAiShape(body: unknown): body is Record<string, unknown> {
  return isRecord(body) && body.aspect_ratio == null && (body.size != null || body.input_reference != null)
}

/**
 * A body of OpenAI's shape as ours, its shape not yet checked: the size becomes a ratio, `input_reference` the first frame, and seconds may be
 * text. `frame_id` is the file of a picture that came in the form. Throws ApiError 400. Source: contract 5.1.
 */
export function fromOpenAi(body: Record<string, unknown>, frame_id: string | null): Record<string, unknown> {
  const { size, input_reference, seconds, aspect_ratio: _, ...rest } = body
  const first = input_reference == null ? null : (frame_id ?? fileIdOf(input_reference))
  if (first !== null && (rest.image_reference != null || rest.references != null)) {
    const text = "Send either 'input_reference' or one of 'image_reference' and 'references', not both."
    throw new ApiError('invalid_value', text, { param: 'input_reference' })
  }
  return {
    ...rest,
    seconds: seconds == null ? DEFAULT_SECONDS : isDigits(seconds) ? Number(seconds) : seconds,
    aspect_ratio: ratioOf(size ?? DEFAULT_SIZE),
    ...(first !== null && { image_reference: [{ file_id: first, role: 'first_frame' }] }),
  }
}

/** The error for a body of OpenAI's shape, with the names of the members that it has. */
export function inOpenAiWords(error: unknown, { size, input_reference }: Record<string, unknown>): unknown {
  if (!(error instanceof ApiError) || error.param === null) return error
  const { code, message, param } = error
  if (param === 'aspect_ratio') {
    const sent = size ?? DEFAULT_SIZE
    const text = message.replace(`the aspect ratio ${ratioOf(sent)}`, `the size ${sent}`)
    return new ApiError(code, text, { param: 'size' })
  }
  if (input_reference == null) return error
  const own = param.replace(/^image_reference(\[0\])?/, 'input_reference')
  return own === param ? error : new ApiError(code, message.replaceAll(`'${param}'`, `'${own}'`), { param: own })
}

/**
 * The error of a create body as somebody who calls through an OpenAI client needs it: it names what takes the place of `size` and
 * `input_reference`, and says to send `seconds` as a number. Any other error is returned as it is. Source: contract 5.1 and 15.
 */
export function withReplacement(error: unknown, body: unknown): unknown {
  if (!(error instanceof ApiError) || typeof body !== 'object' || body === null) return error
  const { size, input_reference, seconds } = body as Record<string, unknown>
  const unknown = error.code === 'unknown_parameter' ? error.param : null
  if (size !== undefined && unknown === 'size')
    return rejectField('size', `Send aspect_ratio instead${ratioFor(size)}.`)
  if (input_reference !== undefined && unknown === 'input_reference') {
    return rejectField('input_reference', `Send image_reference instead: ${UPLOAD_FIRST}`)
  }
  if (typeof seconds === 'string' && error.code === 'invalid_type' && error.param === 'seconds') {
    const remedy = isDigits(seconds)
      ? `Send a number without quotation marks: ${Number(seconds)}.`
      : 'Send a whole number from 4 to 15.'
    return new ApiError('invalid_type', `${error.message} ${remedy}`, { param: 'seconds' })
  }
  return error
}

/** A part of a form that is a file: media goes through `/v1/files`. */
export function fileRejected(name: string): ApiError {
  const remedy =
    name === 'input_reference'
      ? `Upload it with POST /v1/files. Send image_reference instead: ${UPLOAD_FIRST}`
      : 'Upload it with POST /v1/files and send its file_id.'
  return new ApiError('invalid_value', `'${name}' is a file. ${remedy}`, { param: name })
}

const UPLOAD_FIRST =
  'the file_id of an upload with purpose vision, and the role first_frame or last_frame, as in [{"file_id": "file-…", "role": "first_frame"}].'

function rejectField(name: string, remedy: string): ApiError {
  return new ApiError('unknown_parameter', `Unknown parameter: '${name}'. ${remedy}`, { param: name })
}

function isDigits(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,2}$/.test(value)
}

function fileIdOf(input_reference: unknown): string {
  if (isRecord(input_reference)) {
    const { file_id, ...rest } = input_reference
    if (typeof file_id === 'string' && Object.values(rest).every((member) => member == null)) return file_id
  }
  const text =
    'Invalid \'input_reference\': send the picture as a file of a multipart form, or {"file_id": "file-…"} of an upload with purpose vision. URLs are not accepted.'
  throw new ApiError('invalid_value', text, { param: 'input_reference' })
}

function ratioOf(size: unknown): string {
  const ratio = typeof size === 'string' && Object.hasOwn(RATIO_BY_SIZE, size) ? RATIO_BY_SIZE[size] : undefined
  if (ratio) return ratio
  const got = typeof size === 'string' ? `'${size.slice(0, 64)}'` : JSON.stringify(size).slice(0, 64)
  const text = `Invalid value: ${got}. ${supportedValues(Object.keys(RATIO_BY_SIZE))} Or send aspect_ratio in place of size${ratioFor(size)}.`
  throw new ApiError('invalid_value', text, { param: 'size' })
}

/** The named ratio nearest to `1280x720`, by how many times wider one is than the other. */
function ratioFor(size: unknown): string {
  const [, width, height] = typeof size === 'string' ? (/^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(size) ?? []) : []
  if (width === undefined || height === undefined) return ", such as '16:9'"
  const wanted = Math.log(Number(width) / Number(height))
  const distance = (ratio: string) => {
    const [w, h] = ratio.split(':').map(Number) as [number, number]
    return Math.abs(Math.log(w / h) - wanted)
  }
  const named = ASPECT_RATIOS.filter((ratio) => ratio !== 'Auto')
  const nearest = named.reduce((best, ratio) => (distance(ratio) < distance(best) ? ratio : best))
  return `: '${nearest}' for ${size}`
}
