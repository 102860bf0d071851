import type { MultipartFile, MultipartValue } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type Blobs, BlobTooLarge, DiskFull, type StagedBlob } from '../platform/blobs/blobs.ts'
import { ApiError, overloaded } from '../platform/errors.ts'
import { partsOfForm, requireConnected, requireReadableForm } from '../platform/http/body/form.ts'
import { fromText } from '../platform/schema/query.ts'
import { shape } from '../platform/schema/validate.ts'
import { UploadFields } from './schema.ts'

/** Largest upload. Source: contract 7. */
export const FILE_BYTES_MAX = 100_000_000

export type Upload = { staged: StagedBlob; filename: string | undefined; fields: Static<typeof UploadFields> }

/** One file, the known fields, and room for two unknown ones. */
const PARTS_MAX = 6
const FIELD_BYTES_MAX = 1000
const LIMITS = { files: 1, parts: PARTS_MAX, fieldSize: FIELD_BYTES_MAX, fileSize: FILE_BYTES_MAX + 1 }
/** What boundaries, headers and fields of a form may add to the file. */
const FORM_BYTES_MAX = 64 * 1024

/**
 * How many bytes an upload has at least and at most, by its length where it has one. Throws ApiError 413 for one that is too large whatever is
 * in it, 400 for what is no form.
 */
export function declaredBytes(request: FastifyRequest): { least: number; most: number } {
  requireReadableForm(request)
  const length = request.headers['content-length']
  if (length === undefined) return { least: 1, most: FILE_BYTES_MAX }
  const bytes = Number(length)
  if (bytes > FILE_BYTES_MAX + FORM_BYTES_MAX) throw tooLarge()
  return { least: Math.max(1, bytes - FORM_BYTES_MAX), most: Math.min(bytes, FILE_BYTES_MAX) }
}

/**
 * Reads the parts of an upload in whatever order they come: the file is staged before its purpose may be known. Nothing is kept
 * when it throws: ApiError 400, 413 or, with a full disk, 503. The caller discards or publishes `staged`.
 */
export async function receiveUpload(blobs: Blobs, request: FastifyRequest): Promise<Upload> {
  requireConnected(request)
  const texts = new Map<string, string>()
  let file: { staged: StagedBlob; filename: string | undefined } | null = null
  try {
    for await (const part of partsOfForm(request, { limits: LIMITS }, unreadable)) {
      if (part.type === 'field') {
        if (texts.has(part.fieldname)) throw repeated(part.fieldname)
        texts.set(part.fieldname, textOf(part))
        continue
      }
      if (part.fieldname !== 'file') throw unexpectedFile(part.fieldname)
      if (file !== null) throw repeated('file')
      file = { staged: await stage(blobs, part), filename: unescaped(part.filename) }
    }
    if (file === null) throw missingFile(texts)
    if (file.staged.size_bytes === 0)
      throw new ApiError('invalid_file', 'Invalid file: it is empty.', { param: 'file' })
    return { ...file, fields: checkFields(texts) }
  } catch (error) {
    if (file) await blobs.discard(file.staged)
    throw error
  }
}

async function stage(blobs: Blobs, part: MultipartFile): Promise<StagedBlob> {
  try {
    return await blobs.stage(part.file, { max_bytes: FILE_BYTES_MAX })
  } catch (error) {
    if (error instanceof BlobTooLarge) throw tooLarge()
    if (error instanceof DiskFull) throw diskFull(error)
    if (part.file.errored) throw unreadable(part.file.errored)
    throw error
  }
}

/**
 * The file name that a browser put into a form. Source: https://html.spec.whatwg.org/multipage/form-control-infrastructure.html
 * (multipart/form-data encoding algorithm)
 */
function unescaped(filename: string | undefined): string | undefined {
  return filename?.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')
}

function textOf(part: MultipartValue): string {
  if (typeof part.value === 'string' && !part.valueTruncated) return part.value
  const param = part.fieldname
  throw new ApiError('invalid_value', `Invalid '${param}': expected a text of at most ${FIELD_BYTES_MAX} bytes.`, {
    param,
  })
}

const checkShape = shape(UploadFields)

function checkFields(texts: ReadonlyMap<string, string>): Static<typeof UploadFields> {
  const fields: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(UploadFields.properties)) {
    const text = texts.get(name)
    if (text !== undefined) fields[name] = fromText(schema as { type?: string }, text)
  }
  const checked = checkShape(fields)
  const [anchor, seconds] = ['expires_after[anchor]', 'expires_after[seconds]'] as const
  for (const [given, wanted] of [[anchor, seconds] as const, [seconds, anchor] as const]) {
    if (checked[given] !== undefined && checked[wanted] === undefined) throw missing(wanted)
  }
  return checked
}

export function diskFull(error: DiskFull): ApiError {
  const message = 'The service has no room for uploads right now. Try again later.'
  return overloaded('disk_full', message, { retry_after_seconds: 30, cause: error })
}

function tooLarge(): ApiError {
  return new ApiError('file_too_large', `The file is larger than ${FILE_BYTES_MAX} bytes (100 MB).`, { param: 'file' })
}

function unreadable(error: Error & { code?: string }): ApiError {
  if (error.code === 'FST_FILES_LIMIT') return repeated('file')
  const message = 'The multipart body could not be read to its end. Send file and purpose as multipart/form-data.'
  return new ApiError('invalid_request_error', message, { internal: error.message })
}

function repeated(param: string): ApiError {
  return new ApiError('invalid_value', `Invalid '${param}': the form holds it more than once.`, { param })
}

function unexpectedFile(name: string): ApiError {
  const param = name.slice(0, 64)
  return new ApiError('unknown_parameter', `Unknown file part '${param}'. Send one file part named 'file'.`, { param })
}

function missing(param: string): ApiError {
  return new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param })
}

function missingFile(texts: ReadonlyMap<string, string>): ApiError {
  if (!texts.has('file')) return missing('file')
  return new ApiError(
    'invalid_type',
    "Invalid type for 'file': expected a file part with a filename, but got a text field.",
    {
      param: 'file',
    },
  )
}
