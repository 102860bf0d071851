import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** For whom and for what a text is sealed: it opens for nobody and nothing else. */
export type SealFor = { org_id: string; purpose: 'reasoning' | 'compaction' }

/**
 * Encrypts text that a client keeps for us: AES-256-GCM under a key derived from the service's secret, bound to organization and purpose.
 * URL-safe base64 of version, nonce, tag and ciphertext.
 */
export function seal(secret: string, owner: SealFor, text: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret), nonce).setAAD(bindingOf(owner))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** The text, or null for whatever `seal` did not make with one of these secrets for this owner. */
export function unseal(secrets: readonly string[], owner: SealFor, sealed: string): string | null {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length < HEAD_BYTES || bytes[0] !== VERSION) return null
  for (const secret of secrets) {
    const text = unsealWith(secret, owner, bytes)
    if (text !== null) return text
  }
  return null
}

function unsealWith(secret: string, owner: SealFor, bytes: Buffer): string | null {
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', keyOf(secret), nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(bindingOf(owner)).setAuthTag(bytes.subarray(1 + NONCE_BYTES, HEAD_BYTES))
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

/** The key derived from each secret of the process. */
const keys = new Map<string, Buffer>()

function keyOf(secret: string): Buffer {
  let key = keys.get(secret)
  if (!key) {
    key = Buffer.from(hkdfSync('sha256', secret, '', 'kinora:responses:seal', 32))
    keys.set(secret, key)
  }
  return key
}

function bindingOf({ org_id, purpose }: SealFor): Buffer {
  return Buffer.from(`${VERSION}:${purpose}:${org_id}`)
}
