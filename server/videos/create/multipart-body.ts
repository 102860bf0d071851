import type { Multipart, MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import type { Blobs } from '../../platform/blobs/blobs.ts'
import { ApiError } from '../../platform/errors.ts'
import { partsOfForm, requireConnected, requireReadableForm } from '../../platform/http/body/form.ts'
import { discardBody } from '../../platform/http/connections.ts'
import { parseJson } from '../../platform/json/parse.ts'
import { isRecord } from '../../platform/json/record.ts'
import { requireSafeJson } from '../../platform/schema/validate.ts'
import { FRAME_BYTES_MAX, type Frame, stageFrame } from './frame.ts'
import { fileRejected, isOpenAiShape } from './openai-fields.ts'

/** More fields than the longest valid request has: 4 texts, 2 frames of 2 fields, 13 references. */
const FIELDS_MAX = 64
/** Of one field, and of all JSON of a form, which would otherwise hold more values than a JSON body may. A prompt has at most 28,000 bytes. */
const FIELD_BYTES_MAX = 1024 * 1024

const BYTES_MAX = { fieldSize: FIELD_BYTES_MAX, fileSize: FRAME_BYTES_MAX + 1, fieldNameSize: 200 }
const LIMITS = { fields: FIELDS_MAX, parts: FIELDS_MAX, files: FIELDS_MAX, ...BYTES_MAX }
const OPTIONS = { limits: LIMITS, isPartAFile, throwFileSizeLimit: false }

/** Members that may be one JSON part each: generated clients send objects, and arrays of them, this way. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['image_reference', 'references', 'input_reference'])

const SEGMENT = /^([A-Za-z_][\w-]*)((?:\[[\w-]*\])*)$/

/**
 * Reads the multipart form of a create body into what the JSON form would have been. Texts become strings, `seconds` an integer when it
 * is one; `image_reference[][role]` and numeric indices build arrays; a JSON part is taken as it is. In a form of OpenAI's shape the file
 * `input_reference` is the first frame, which the caller discards; in the body its digest stands for it. Source: contract 5.2.
 * Throws ApiError 400 for other file parts: media goes through `/v1/files`, and for a form without a boundary.
 */
export async function readMultipartBody(
  blobs: Blobs,
  request: FastifyRequest,
): Promise<{ body: Record<string, unknown>; frame: Frame | null }> {
  const form: Form = { body: Object.create(null), json_bytes: 0, frame: null }
  try {
    requireReadableForm(request)
    requireConnected(request)
    for await (const part of partsOfForm(request, OPTIONS, unreadable)) await putPart(blobs, form, part)
    requireSafeJson(form.body)
    const { body, frame } = form
    if (frame && !isOpenAiShape(body)) throw fileRejected('input_reference')
    return { body, frame }
  } catch (error) {
    // The client reads our response only after it has sent everything, so we read the rest and discard it.
    discardBody(request.raw)
    if (form.frame) await blobs.discard(form.frame.staged)
    throw error
  }
}

/** What has been read of a form. */
type Form = { body: Record<string, unknown>; json_bytes: number; frame: Frame | null }

/** JSON parts are read as files, so that depth is checked before they are parsed; `FormData` gives each of them a filename. */
function isPartAFile(_name: string | undefined, type: string | undefined, filename: string | undefined): boolean {
  return filename !== undefined || type === 'application/octet-stream' || isJsonType(type)
}

function isJsonType(type: string | undefined): boolean {
  return type !== undefined && /^application\/json\s*(;|$)/i.test(type)
}

async function putPart(blobs: Blobs, form: Form, part: Multipart): Promise<void> {
  const { body } = form
  const { fieldname: name } = part
  if (part.type === 'field') {
    if (part.valueTruncated || part.fieldnameTruncated) throw fieldTooLarge()
    const text = String(part.value)
    if (JSON_FIELDS.has(name) && /^\s*[[{]/.test(text))
      putJson(body, name, await readJson(form, name, Buffer.from(text)))
    else putField(body, name, text)
    return
  }
  if (name === 'input_reference' && !isJsonType(part.mimetype)) {
    if (Object.hasOwn(body, name)) throw sentTwice(name)
    form.frame = await stageFrame(blobs, part).catch((error: unknown) => {
      throw part.file.errored ? unreadable(part.file.errored) : error
    })
    body[name] = { sha256: form.frame.staged.sha256 }
    return
  }
  const named = JSON_FIELDS.has(name)
  if (!isJsonType(part.mimetype) || (part.filename !== undefined && !named)) {
    throw fileRejected(name)
  }
  const value = await readJson(form, name, await readAtMost(part.file, FIELD_BYTES_MAX))
  if (named) putJson(body, name, value)
  else putField(body, name, typeof value === 'string' ? value : JSON.stringify(value))
}

async function readJson(form: Form, name: string, bytes: Buffer): Promise<unknown> {
  form.json_bytes += bytes.length
  if (form.json_bytes > FIELD_BYTES_MAX) throw fieldTooLarge()
  try {
    return await parseJson(bytes)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_json') throw error
    throw new ApiError('invalid_json', `'${name}' is not valid JSON.`, { param: name })
  }
}

async function readAtMost(file: MultipartFile['file'], bytes_max: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of file) {
      size += chunk.length
      if (size > bytes_max) throw fieldTooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof ApiError ? error : unreadable(error)
  }
  return Buffer.concat(chunks, size)
}

/** The complete member, or the next element of an array. */
function putJson(body: Record<string, unknown>, name: string, value: unknown): void {
  const present = body[name]
  const element = name === 'image_reference' && !Array.isArray(value)
  if (present === undefined) body[name] = element ? [value] : value
  else if (element && Array.isArray(present)) present.push(value)
  else throw sentTwice(name)
}

function unreadable(error: unknown): ApiError {
  const message = 'We could not parse the multipart body of your request.'
  return new ApiError('invalid_request_error', message, { cause: error })
}

function fieldTooLarge(): ApiError {
  return new ApiError(
    'request_too_large',
    `A form field, or all JSON of the form together, is larger than ${FIELD_BYTES_MAX} bytes.`,
  )
}

function sentTwice(name: string): ApiError {
  return new ApiError('invalid_value', `'${name}' is sent twice. Send it once.`, { param: name })
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

/**
 * `[]` appends; inside an array of objects a member goes to the first element without it, so that it does not matter whether a client
 * sends element after element or, as generated clients do, all values of one name after another.
 */
function put(target: Record<string, unknown>, path: string[], value: unknown, name: string): void {
  const [head, next, ...rest] = path as [string, ...string[]]
  if (head === '__proto__') throw misplaced(name)
  if (next === undefined) {
    if (Object.hasOwn(target, head)) throw sentTwice(name)
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
  if (!Array.isArray(list)) throw misplaced(name)
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
  const waiting = list.find((each) => !Object.hasOwn(recordOf(each, name), wanted.member))
  if (waiting !== undefined) return recordOf(waiting, name)
  const fresh: Record<string, unknown> = Object.create(null)
  list.push(fresh)
  return fresh
}

function recordOf(value: unknown, name: string): Record<string, unknown> {
  if (isRecord(value)) return value
  throw misplaced(name)
}

function misplaced(name: string): ApiError {
  return new ApiError(
    'invalid_value',
    `'${name}' does not fit the other fields. See the multipart form in docs/api/videos.md.`,
    {
      param: name,
    },
  )
}
