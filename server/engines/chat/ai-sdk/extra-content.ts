import { asRecord } from '../../../platform/json/record.ts'
import type { ExtraContent } from '../contract.ts'

/**
 * Gemini's signature in the metadata that a package gives with a call, as clients get it and send it back: in the form of Google's own API
 * for OpenAI's clients, whatever the package calls its provider. Other metadata stays here, since what clients send back becomes options of
 * the provider: ids of stored items, or a cache that the operator pays for.
 */
export function extraContentOf(metadata: unknown): ExtraContent | undefined {
  const values = Object.values(asRecord(metadata) ?? {})
  const signature = values.map((value) => asRecord(value)?.thoughtSignature).find((each) => typeof each === 'string')
  return signature === undefined ? undefined : { google: { thought_signature: signature } }
}

/** The same, as the package takes it. */
export function metadataOf(extra: ExtraContent | undefined): { google: { thoughtSignature: string } } | undefined {
  const signature = asRecord(extra?.google)?.thought_signature
  return typeof signature === 'string' ? { google: { thoughtSignature: signature } } : undefined
}
