import { Readable } from 'node:stream'
import type { RenderRequest } from '../../engines/video/contract.ts'
import { BlobsAway } from '../../platform/blobs/blobs.ts'

/** The request, and whether storage that was away, not the engine, cut its inputs short while they were sent. */
export function watchInputs(request: RenderRequest): { request: RenderRequest; fault(): BlobsAway | null } {
  let fault: BlobsAway | null = null
  const noted = (error: unknown) => {
    // Damage is found at the end, when all bytes are sent.
    if (error instanceof BlobsAway && !error.damaged) fault = error
    return error
  }
  const inputs = request.inputs.map((input) => ({
    ...input,
    async open() {
      try {
        return Readable.toWeb(Readable.from(noting(await input.open(), noted))) as ReadableStream<Uint8Array>
      } catch (error) {
        throw noted(error)
      }
    },
  }))
  return { request: { ...request, inputs }, fault: () => fault }
}

async function* noting<T>(chunks: AsyncIterable<T>, noted: (error: unknown) => unknown): AsyncIterable<T> {
  try {
    yield* chunks
  } catch (error) {
    throw noted(error)
  }
}
