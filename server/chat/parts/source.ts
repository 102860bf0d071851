import type { ChatModelConfig } from '../../config/config.ts'
import type { ChatEngine } from '../../engines/chat/contract.ts'
import type { Purpose } from '../../files/purposes.ts'
import type { MediaFamily } from '../../media/probe/recognize.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Lease } from '../../platform/http/body/byte-budget.ts'
import { mismatch } from '../check.ts'

type Detail = 'auto' | 'low' | 'high' | 'original'

/**
 * The source of one part of a message, in either API. `param` is the path of its member, `blame` the path in the error when the model does not
 * accept such content. `url` is http(s), `data:` or base64; `file_data` and `data` are a data URL or base64. `refuses`: kinds that the API does not
 * accept here, each with the alternative; `purposes`: accepted purposes of a stored file. `of_history`: of an earlier request, so that a text
 * takes its place when it is gone.
 */
export type PartSource = {
  param: string
  blame: string
  refuses?: Partial<Record<PartKind, string>>
  of_history?: 'image' | 'file'
} & (
  | { from: 'url'; family: MediaFamily; url: string; detail?: Detail }
  | { from: 'sound'; data: string }
  | { from: 'file_id'; file_id: string; detail?: Detail; purposes?: readonly Purpose[] }
  | { from: 'file_data'; file_data: string; filename?: string }
  | { from: 'file_url'; url: string; filename?: string }
)

/**
 * Who the parts are made for: the organization that owns the files, the model that must accept them, the engine they are sent to. `lease` counts
 * the bytes that are read beside the request.
 */
export type PartWork = { org_id: string; model: ChatModelConfig; engine: ChatEngine; lease: Lease }

/** Kinds of content. A PDF is rendered page by page; `text` is any document in UTF-8. */
export type PartKind = MediaFamily | 'pdf' | 'text'

/** Maximum decoded size of each kind, where the bytes pass through us. Source: docs/api/chat.md, parts. */
export const BYTES_MAX: Record<PartKind, number> = {
  image: 20_000_000,
  audio: 25_000_000,
  video: 50_000_000,
  pdf: 32_000_000,
  text: 10_000_000,
}

/** What one request may still contain: decoded bytes that pass through us, and pieces of media. */
export type Budget = { bytes: number; pieces: number }

export function newBudget(): Budget {
  return { bytes: BYTES_TOTAL_MAX, pieces: PIECES_MAX }
}

/** Takes from the budget. Throws ApiError 400 when it is exceeded. */
export function spendBudget(budget: Budget, source: PartSource, cost: Partial<Budget>): void {
  budget.bytes -= cost.bytes ?? 0
  budget.pieces -= cost.pieces ?? 0
  if (budget.bytes < 0) {
    throw refuse(source, `all files of one request have at most ${BYTES_TOTAL_MAX} bytes. Send fewer or smaller ones.`)
  }
  if (budget.pieces < 0) {
    throw refuse(source, `a request has at most ${PIECES_MAX} images, videos, sounds, files and pages. Send fewer.`)
  }
}

/** The error for this part. Its code depends on the form of its source. Source: contract 2.3. */
export function refuse(source: PartSource, problem: string): ApiError {
  return new ApiError(codeOf(source), `Invalid '${source.param}': ${problem}`, { param: source.param })
}

/** The error for a part that was there once, or may have been. */
export function gone(source: PartSource, problem: string): ApiError {
  const { code, message, param } = refuse(source, problem)
  return new ApiError(code, message, { param, cause: GONE })
}

export function isGonePart(error: unknown): boolean {
  return error instanceof ApiError && error.cause === GONE
}

const GONE = new Error('the part is gone')

/** Throws ApiError when the API does not accept such content here, and `model_capability_mismatch` when the model does not. */
export function requireCapability(model: ChatModelConfig, source: PartSource, kind: PartKind): void {
  const remedy = source.refuses?.[kind]
  if (remedy !== undefined) throw refuse(source, remedy)
  if (kind === 'text') return
  const { capability, what } = NEEDS[kind]
  if (!model.capabilities.includes(capability)) throw mismatch(model.id, source.blame, what)
}

const BYTES_TOTAL_MAX = 64_000_000
const PIECES_MAX = 256

const NEEDS = {
  image: { capability: 'vision', what: 'images' },
  video: { capability: 'video', what: 'video' },
  audio: { capability: 'audio', what: 'sound' },
  pdf: { capability: 'vision', what: 'images, which the pages of a PDF become' },
} as const

function codeOf(source: PartSource) {
  if (source.from === 'file_id') return 'invalid_file'
  return source.from === 'url' && source.family === 'image' ? 'invalid_image_url' : 'invalid_file_data'
}
