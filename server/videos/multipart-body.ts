import type { FastifyRequest } from 'fastify'
import { ApiError } from '../platform/errors.ts'
import { requireSafeJson } from '../platform/validate.ts'
import { fileRefused } from './openai-fields.ts'

/** More fields than the longest valid request has: 4 texts, 2 frames of 2 fields, 13 references. */
const FIELDS_MAX = 64
/** A prompt of 7000 code points has at most 28,000 bytes. */
const FIELD_BYTES_MAX = 1024 * 1024

const SEGMENT = /^([A-Za-z_][\w-]*)((?:\[[\w-]*\])*)$/

/**
 * Reads the multipart form of a create body into what the JSON form would have been. Texts become strings, `seconds` an integer when it
 * reads as one; `image_reference[][role]` and numeric indices build arrays. Source: contract 5.2.
 * Throws ApiError 400 for file parts: media goes through `/v1/files`.
 */
export async function readMultipartBody(request: FastifyRequest): Promise<Record<string, unknown>> {
  const body: Record<string, unknown> = Object.create(null)
  const limits = { fields: FIELDS_MAX, parts: FIELDS_MAX, files: 1, fieldSize: FIELD_BYTES_MAX, fieldNameSize: 200 }
  try {
    for await (const part of request.parts({ limits })) {
      if (part.type === 'file') {
        part.file.resume()
        throw fileRefused(part.fieldname)
      }
      if (part.valueTruncated || part.fieldnameTruncated)
        throw new ApiError('request_too_large', 'A form field is too large.')
      putField(body, part.fieldname, String(part.value))
    }
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError('invalid_request_error', 'We could not parse the multipart body of your request.', {
      cause: error,
    })
  }
  requireSafeJson(body)
  return body
}

function putField(body: Record<string, unknown>, name: string, text: string): void {
  const match = SEGMENT.exec(name)
  if (!match)
    throw new ApiError('unknown_parameter', `Unknown parameter: '${name.slice(0, 100)}'.`, {
      param: name.slice(0, 100),
    })
  const path = [...match[2]!.matchAll(/\[([\w-]*)\]/g)].map((segment) => segment[1]!)
  const value = name === 'seconds' && /^\d{1,9}$/.test(text) ? Number(text) : text
  put(body, [match[1]!, ...path], value, name)
}

/** `[]` appends; inside an array of objects it goes on with the last element until that has the member already. */
function put(target: Record<string, unknown>, path: string[], value: unknown, name: string): void {
  const [head, next, ...rest] = path as [string, ...string[]]
  if (head === '__proto__') throw unreadable(name)
  if (next === undefined) {
    if (Object.hasOwn(target, head))
      throw new ApiError('invalid_value', `'${name}' is sent twice. Send it once.`, { param: name })
    target[head] = value
    return
  }
  if (next !== '' && !/^\d+$/.test(next)) {
    target[head] ??= Object.create(null)
    put(recordOf(target[head], name), [next, ...rest], value, name)
    return
  }
  target[head] ??= []
  const list = target[head]
  if (!Array.isArray(list)) throw unreadable(name)
  if (rest.length === 0) {
    list.push(value)
    return
  }
  put(elementOf(list, { index: next, member: rest[0]! }, name), rest, value, name)
}

function elementOf(list: unknown[], wanted: { index: string; member: string }, name: string): Record<string, unknown> {
  if (wanted.index !== '') {
    const index = Number(wanted.index)
    if (index > list.length)
      throw new ApiError('invalid_value', `'${name}' skips an index. Count from 0.`, { param: name })
    list[index] ??= Object.create(null)
    return recordOf(list[index], name)
  }
  const last = list.at(-1)
  if (last !== undefined && !Object.hasOwn(recordOf(last, name), wanted.member)) return recordOf(last, name)
  const fresh: Record<string, unknown> = Object.create(null)
  list.push(fresh)
  return fresh
}

function recordOf(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw unreadable(name)
}

function unreadable(name: string): ApiError {
  return new ApiError(
    'invalid_value',
    `'${name}' does not fit the other fields. See the multipart form in docs/api/videos.md.`,
    {
      param: name,
    },
  )
}
