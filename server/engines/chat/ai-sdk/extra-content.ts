import { asRecord } from '../../../platform/json/record.ts'
import type { ExtraContent } from '../contract.ts'

/**
 * The metadata that a package gives with a call, as clients get it and send it back: Gemini's signature as Google's own API for OpenAI's
 * clients has it, whatever the package calls its provider, and that of other providers as it is.
 */
export function extraContentOf(metadata: unknown): ExtraContent | undefined {
  const extra: ExtraContent = {}
  for (const [provider, value] of Object.entries(asRecord(metadata) ?? {})) {
    const { thoughtSignature, ...others } = asRecord(value) ?? {}
    if (typeof thoughtSignature === 'string') extra.google = { thought_signature: thoughtSignature }
    else if (Object.keys(others).length > 0) extra[provider] = others
  }
  return Object.keys(extra).length > 0 ? extra : undefined
}

/** The same, as the package takes it. What is no object of its provider is left out. */
export function metadataOf(extra: ExtraContent | undefined): Record<string, Record<string, unknown>> | undefined {
  if (extra === undefined) return undefined
  const metadata: Record<string, Record<string, unknown>> = {}
  for (const [provider, value] of Object.entries(extra)) {
    const { thought_signature, ...others } = asRecord(value) ?? {}
    const own = { ...others, ...(typeof thought_signature === 'string' && { thoughtSignature: thought_signature }) }
    if (Object.keys(own).length > 0) metadata[provider] = own
  }
  return metadata
}
