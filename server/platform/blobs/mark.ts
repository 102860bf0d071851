import type { BlobMark } from './blobs.ts'

/** Null for a text that is not a mark. */
export function parseMark(text: string): BlobMark | null {
  try {
    const { installation_id, paired, partial = false } = JSON.parse(text) as Partial<BlobMark>
    if (typeof installation_id !== 'string' || typeof paired !== 'boolean') return null
    return partial ? { installation_id, paired, partial } : { installation_id, paired }
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
