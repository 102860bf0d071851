import { ASPECT_RATIOS } from '../../engines/video/contract.ts'
import { ApiError } from '../../platform/errors.ts'

/**
 * The refusal of a create body as somebody who calls through an OpenAI client needs it: it names what takes the place of `size` and
 * `input_reference`, and says to send `seconds` as a number. Any other error is returned as it is. Source: contract 5.1 and 15.
 */
export function withReplacement(error: unknown, body: unknown): unknown {
  if (!(error instanceof ApiError) || typeof body !== 'object' || body === null) return error
  const { size, input_reference, seconds } = body as Record<string, unknown>
  const missing = error.code === 'missing_required_parameter' ? error.param : null
  const unknown = error.code === 'unknown_parameter' ? error.param : null
  // Without `size` the missing ratio would be named, which does not help a client that sent a size.
  if (size !== undefined && (unknown === 'size' || missing === 'aspect_ratio')) {
    return refuseField('size', `Send aspect_ratio instead${ratioFor(size)}.`)
  }
  if (input_reference !== undefined && unknown === 'input_reference') {
    return refuseField('input_reference', `Send image_reference instead: ${UPLOAD_FIRST}`)
  }
  if (typeof seconds === 'string' && error.code === 'invalid_type' && error.param === 'seconds') {
    const remedy = /^\d{1,2}$/.test(seconds)
      ? `Send a number without quotation marks: ${Number(seconds)}.`
      : 'Send a whole number from 4 to 15.'
    return new ApiError('invalid_type', `${error.message} ${remedy}`, { param: 'seconds' })
  }
  return error
}

/** A part of a form that is a file: media goes through `/v1/files`. */
export function fileRefused(name: string): ApiError {
  const remedy =
    name === 'input_reference'
      ? `Upload it with POST /v1/files. Send image_reference instead: ${UPLOAD_FIRST}`
      : 'Upload it with POST /v1/files and send its file_id.'
  return new ApiError('invalid_value', `'${name}' is a file. ${remedy}`, { param: name })
}

const UPLOAD_FIRST =
  'the file_id of an upload with purpose vision, and the role first_frame or last_frame, as in [{"file_id": "file-…", "role": "first_frame"}].'

function refuseField(name: string, remedy: string): ApiError {
  return new ApiError('unknown_parameter', `Unknown parameter: '${name}'. ${remedy}`, { param: name })
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
