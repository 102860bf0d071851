import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/**
 * Encrypts text with the secret of the service: AES-256-GCM under a key derived for `label`. It can be decrypted with the same label and
 * binding only. URL-safe base64 of version, nonce, tag and ciphertext.
 */
export function sealText(secret: string, use: { label: string; binding: string }, text: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', deriveKey(secret, use.label), nonce).setAAD(Buffer.from(use.binding))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(SEAL_VERSION), nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Decrypts what `sealText` made with one of these secrets; anything else is null. Keys are derived once, at the first text. */
export function textUnsealer(
  secrets: readonly string[],
  label: string,
): (binding: string, sealed: string) => string | null {
  let keys: readonly Buffer[] | null = null
  return (binding, sealed) => {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < HEAD_BYTES || bytes[0] !== SEAL_VERSION) return null
    keys ??= secrets.map((secret) => deriveKey(secret, label))
    for (const key of keys) {
      const text = decrypt(key, binding, bytes)
      if (text !== null) return text
    }
    return null
  }
}

function decrypt(key: Buffer, binding: string, bytes: Buffer): string | null {
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(binding)).setAuthTag(bytes.subarray(1 + NONCE_BYTES, HEAD_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return null
  }
}

/** The first byte of what is sealed. */
export const SEAL_VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES

function deriveKey(secret: string, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', label, 32))
}
