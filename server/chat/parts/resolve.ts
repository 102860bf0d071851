import type { Context } from '../../context.ts'
import type { ChatPart } from '../../engines/chat/contract.ts'
import type { FileRow } from '../../files/store/files.ts'
import { ApiError } from '../../platform/errors.ts'
import { mediaPart, partsOfContent } from './content.ts'
import { type Inline, type InlineOptions, isBareBase64, isDataUrl, readBase64, readDataUrl } from './inline.ts'
import { fetchRemote, requirePublicName, requireWebUrl } from './remote.ts'
import {
  type Budget,
  isGonePart,
  newBudget,
  type PartSource,
  type PartWork,
  requireCapability,
  spendBudget,
} from './source.ts'
import { findStored, partsOfStored } from './stored.ts'

/**
 * The parts of each source, in the same order: several for a PDF, one for anything else. First everything is checked that needs only the
 * request, then files are looked up in one query, then bytes are read, fetched and rendered, a few sources at a time. Throws ApiError 400
 * with the path of the source at fault; the total size is limited.
 */
export async function resolveParts(
  ctx: Context,
  work: PartWork,
  sources: readonly PartSource[],
  left: AbortSignal,
): Promise<ChatPart[][]> {
  const budget = newBudget()
  const ready: Ready[] = []
  for (const source of sources) {
    left.throwIfAborted()
    ready.push(await checkSource(work, budget, source, left))
  }
  const stored = sources.filter((source) => source.from === 'file_id')
  const files = stored.length > 0 ? await findStored(ctx, { ...work, budget }, stored) : new Map<string, FileRow>()
  const stop = new AbortController()
  const deadline = AbortSignal.timeout(RESOLVE_SECONDS * 1000)
  const signal = AbortSignal.any([left, stop.signal, deadline])
  try {
    return await mapConcurrently(ready, (each) => partsOrNote(ctx, { ...work, budget, signal }, each, files))
  } catch (error) {
    stop.abort()
    if (left.aborted) throw new ApiError('invalid_request_error', 'The request ended before it was complete.')
    if (!deadline.aborted || error instanceof ApiError) throw error
    const text = `The files of this request took longer than ${RESOLVE_SECONDS} s to read. Send fewer or smaller ones.`
    throw new ApiError('invalid_request_error', text)
  }
}

/** Time limit of all parts of a request together. */
const RESOLVE_SECONDS = 60
const CONCURRENCY = 4

/** A checked source, with its content if that came with the request. */
type Ready = { source: PartSource; inline: Inline | null; url: string | null }

async function checkSource(
  { model }: PartWork,
  budget: Budget,
  source: PartSource,
  signal: AbortSignal,
): Promise<Ready> {
  if (source.from === 'url') requireCapability(model, source, source.family)
  if (source.from === 'sound') requireCapability(model, source, 'audio')
  spendBudget(budget, source, { pieces: 1 })
  const inline = await readInline(source, signal)
  if (inline) spendBudget(budget, source, { bytes: inline.bytes.length })
  const url = !inline && (source.from === 'url' || source.from === 'file_url') ? requireWebUrl(source) : null
  return { source, inline, url }
}

async function readInline(source: PartSource, signal: AbortSignal): Promise<Inline | null> {
  switch (source.from) {
    case 'url':
      if (isDataUrl(source.url)) return readDataUrl(source, source.url, { kind: source.family, signal })
      return isBareBase64(source.url) ? readBase64(source, source.url, { kind: source.family, signal }) : null
    case 'sound':
      return readEither(source, source.data, { kind: 'audio', signal })
    case 'file_data':
      return readEither(source, source.file_data, { signal })
    default:
      return null
  }
}

function readEither(source: PartSource, text: string, reading: InlineOptions): Promise<Inline> {
  return isDataUrl(text) ? readDataUrl(source, text, reading) : readBase64(source, text, reading)
}

/** Of an earlier request, what is gone is a text: a conversation does not end with its oldest file. */
async function partsOrNote(...asked: Parameters<typeof partsOf>): Promise<ChatPart[]> {
  const [, { signal }, { source }] = asked
  try {
    return await partsOf(...asked)
  } catch (error) {
    if (!source.of_history || signal.aborted || !isGonePart(error)) throw error
    const what = source.of_history === 'image' ? 'An image' : 'A file'
    return [{ type: 'text', text: `[${what} that was here is no longer available.]` }]
  }
}

async function partsOf(
  ctx: Context,
  work: PartWork & { budget: Budget; signal: AbortSignal },
  { source, inline, url }: Ready,
  files: ReadonlyMap<string, FileRow>,
): Promise<ChatPart[]> {
  const filename = source.from === 'file_data' || source.from === 'file_url' ? source.filename : undefined
  if (inline) return partsOfContent(source, { ...inline, filename }, work)
  if (source.from === 'file_id') return partsOfStored(ctx, work, source, files.get(source.file_id))
  const remote = source as PartSource & { from: 'url' | 'file_url' }
  const { fetches_urls } = work.engine
  if (source.from === 'url' && fetches_urls !== false) {
    if (fetches_urls === true) await requirePublicName({ ...remote, url: url! })
    return [mediaPart(source.family, url!, source)]
  }
  const bytes = await fetchRemote({ ...remote, url: url! }, work)
  return partsOfContent(source, { bytes, filename }, work)
}

/** Maps a few items at a time. Rejects with the first failure; the caller must abort the work still active then. */
async function mapConcurrently<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  let failed = false
  const worker = async () => {
    while (next < items.length && !failed) {
      const index = next++
      try {
        results[index] = await work(items[index]!)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker))
  return results
}
