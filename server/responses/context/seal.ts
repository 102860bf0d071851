import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** The organization and the purpose that a text is encrypted for: it cannot be decrypted for any other. */
export type SealBinding = { org_id: string; purpose: 'reasoning' | 'compaction' }

/**
 * Encrypts text that a client keeps for us: AES-256-GCM under a key derived from the service's secret, bound to organization and purpose.
 * URL-safe base64 of version, nonce, tag and ciphertext.
 */
export function seal(secret: string, binding: SealBinding, text: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', deriveKey(secret), nonce).setAAD(additionalData(binding))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Decrypts what `seal` made with one of these secrets; anything else is null. Keys are derived once, at the first text. */
export function unsealer(secrets: readonly string[]): (binding: SealBinding, sealed: string) => string | null {
  let keys: readonly Buffer[] | null = null
  return (binding, sealed) => {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < HEAD_BYTES || bytes[0] !== VERSION) return null
    keys ??= secrets.map(deriveKey)
    for (const key of keys) {
      const text = decrypt(key, binding, bytes)
      if (text !== null) return text
    }
    return null
  }
}

function decrypt(key: Buffer, binding: SealBinding, bytes: Buffer): string | null {
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(additionalData(binding)).setAuthTag(bytes.subarray(1 + NONCE_BYTES, HEAD_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return null
  }
}

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES

function deriveKey(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'kinora:responses:seal', 32))
}

function additionalData({ org_id, purpose }: SealBinding): Buffer {
  return Buffer.from(`${VERSION}:${purpose}:${org_id}`)
}
