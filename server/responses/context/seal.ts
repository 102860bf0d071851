import { SEAL_VERSION, sealText, textUnsealer } from '../../platform/crypto/seal.ts'

/**
 * The organization and the purpose that a text is encrypted for: it cannot be decrypted for any other. `calls`: what the model's server
 * wants back with calls.
 */
export type SealBinding = { org_id: string; purpose: 'reasoning' | 'calls' | 'compaction' }

/** Encrypts text that a client keeps for us. */
export function seal(secret: string, binding: SealBinding, text: string): string {
  const sealed = sealText(secret, { label: LABEL, binding: bindingText(binding) }, text)
  return binding.purpose === 'calls' ? CALLS_MARK + sealed : sealed
}

/** What the encrypted content of a reasoning item was encrypted for, if it is ours: to try both would take twice as long. */
export function purposeOf(sealed: string): 'reasoning' | 'calls' {
  return sealed.startsWith(CALLS_MARK) ? 'calls' : 'reasoning'
}

/** Decrypts what `seal` made with one of these secrets; anything else is null. Keys are derived once, at the first text. */
export function unsealer(secrets: readonly string[]): (binding: SealBinding, sealed: string) => string | null {
  const unseal = textUnsealer(secrets, LABEL)
  return (binding, sealed) => {
    const from = binding.purpose === 'calls' ? CALLS_MARK.length : 0
    return unseal(bindingText(binding), sealed.slice(from))
  }
}

/** Begins what is encrypted for `calls`, and nothing else: a dot is no character of base64. */
const CALLS_MARK = 'calls.'
const LABEL = 'kinora:responses:seal'

function bindingText({ org_id, purpose }: SealBinding): string {
  return `${SEAL_VERSION}:${purpose}:${org_id}`
}
