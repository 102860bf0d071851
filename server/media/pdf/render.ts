import { fileURLToPath } from 'node:url'
import { ChildError, runChild } from '../children/run.ts'

/** A longer document is refused by its page count, before any page is drawn. */
const PAGES_MAX = 50
/** Pixels of the longer side of a page, and pixels for each point of a small one. */
export const PAGE_EDGE_MAX = 1568
export const PAGE_SCALE_MAX = 2
/** Of all pages together; beyond it every page is drawn smaller. 50 pages of A4 stay below. */
export const PIXELS_MAX = 100_000_000
/** All pictures of one document, encoded. */
export const PICTURES_BYTES_MAX = 40_000_000

export type PdfTask = { bytes: Uint8Array; pages_max: number }

const FAULTS = ['unreadable', 'encrypted', 'too_many_pages', 'too_complex'] as const
/** `too_complex`: takes more time, memory or picture bytes than one document may. */
export type PdfFault = (typeof FAULTS)[number]

/** A PDF whose pages cannot be had. */
export class PdfError extends Error {
  override name = 'PdfError'
  readonly fault: PdfFault

  constructor(fault: PdfFault, options: { cause?: unknown } = {}) {
    super(`The PDF cannot be drawn: ${fault}.`, options)
    this.fault = fault
  }
}

/**
 * A JPEG of every page, in order: at most twice its size in points and 1568 pixels on the longer side. Text in fonts that the document
 * does not embed may be missing: there are no system fonts. Drawn in a child that may read nothing but the service's own code.
 * Throws PdfError, ChildrenBusy, or the signal's reason. Source: docs/api/chat.md, parts.
 */
export async function renderPdf(
  bytes: Uint8Array,
  options: { owner?: string; signal?: AbortSignal } = {},
): Promise<Uint8Array[]> {
  const task: PdfTask = { bytes, pages_max: PAGES_MAX }
  try {
    return await runChild<Uint8Array[]>(new URL('./child.ts', import.meta.url), task, {
      ...options,
      kind: 'document',
      time_limit_seconds: RENDER_SECONDS,
      memory_mb: MEMORY_MB,
      node_flags: lockedFlags(),
      reuse: true, // PDFium is WebAssembly, and each document gets an instance of its own
    })
  } catch (error) {
    if (!(error instanceof ChildError)) throw error
    const fault = FAULTS.find((known) => known === error.cause_name)
    throw new PdfError(fault ?? (error.fault === 'failed' ? 'unreadable' : 'too_complex'), { cause: error })
  }
}

/** Flags of Node for a child that can read no file but the service's own code, write none and start no program. */
export function lockedFlags(): string[] {
  const code = fileURLToPath(new URL('../../', import.meta.url))
  const library = fileURLToPath(import.meta.resolve('@hyzyla/pdfium'))
  const modules = library.slice(0, library.lastIndexOf('node_modules') + 'node_modules'.length)
  return [
    '--permission',
    `--allow-fs-read=${code}*`,
    `--allow-fs-read=${modules}/*`,
    '--allow-addons',
    '--allow-worker',
  ]
}

/** A document that takes longer is hostile or far too rich: a page of text and photos takes about 50 ms. */
const RENDER_SECONDS = 10
/** An idle child has 120 MB. */
const MEMORY_MB = 700
