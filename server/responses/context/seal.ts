import { SEAL_VERSION, sealText, textUnsealer } from '../../platform/crypto/seal.ts'

/**
 * The organization and the purpose that a text is encrypted for: it cannot be decrypted for any other. `calls`: what the model's server
 * wants back with calls.
 */
export type SealBinding = { org_id: string; purpose: 'reasoning' | 'calls' | 'compaction' }

/** Encrypts text that a client keeps for us. */
export function seal(secret: string, binding: SealBinding, text: string): string {
  return sealText(secret, { label: LABEL, binding: bindingText(binding) }, text)
}

/** Decrypts what `seal` made with one of these secrets; anything else is null. Keys are derived once, at the first text. */
export function unsealer(secrets: readonly string[]): (binding: SealBinding, sealed: string) => string | null {
  const unseal = textUnsealer(secrets, LABEL)
  return (binding, sealed) => unseal(bindingText(binding), sealed)
}

const LABEL = 'kinora:responses:seal'

function bindingText({ org_id, purpose }: SealBinding): string {
  return `${SEAL_VERSION}:${purpose}:${org_id}`
}
