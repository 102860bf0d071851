import assert from 'node:assert/strict'
import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { unixSeconds } from '../platform/clock.ts'

/** A signed URL lives at most this long. */
export const SIGNED_URL_SECONDS_MAX = 900
/** How far the clocks of the signing and the answering machine may differ. */
const SKEW_SECONDS = 60

/** What a signature binds: these very bytes of this file of this organization. */
export type SignedFile = { id: string; org_id: string; sha256: string }

/** The query of a signed URL as it arrived: anything. */
export type SignedQuery = { expires?: unknown; key?: unknown; signature?: unknown }

/**
 * A URL that serves one file to whoever holds it, for `ttl_seconds` (1 to 900): how engines fetch references without a credential.
 * HMAC-SHA256 over key id, method, organization, file, sha256 and expiry. `secret` is the service's secret of at least 32 bytes.
 */
export function signFileUrl(options: {
  secret: string
  base_url: string
  file: SignedFile
  method: 'GET'
  now: Date
  ttl_seconds: number
}): string {
  const { secret, base_url, file, method, now, ttl_seconds } = options
  assert(
    Number.isInteger(ttl_seconds) && ttl_seconds >= 1 && ttl_seconds <= SIGNED_URL_SECONDS_MAX,
    'ttl_seconds is 1 to 900',
  )
  const expires = String(unixSeconds(now) + ttl_seconds)
  const { key, key_id } = signingKey(secret)
  const signature = sign(key, { key_id, method, file, expires })
  return `${base_url}/v1/files/${file.id}/signed?expires=${expires}&key=${key_id}&signature=${signature}`
}

/**
 * Whether a request for `file` carries a signature of ours that is still good. HEAD is good wherever GET is. `secrets` lists the
 * current secret and those it replaced in the last minutes.
 */
export function isSignedFor(options: {
  secrets: readonly string[]
  file: SignedFile
  method: string
  query: SignedQuery
  now: Date
}): boolean {
  const { secrets, file, method, query, now } = options
  const { expires, key, signature } = query
  if (typeof expires !== 'string' || typeof key !== 'string' || typeof signature !== 'string') return false
  const used = secrets.map(signingKey).find((each) => each.key_id === key)
  if (!used || !/^[1-9]\d{0,11}$/.test(expires)) return false
  const signed = sign(used.key, { key_id: key, method: method === 'HEAD' ? 'GET' : method, file, expires })
  // The texts are compared, not the bytes they encode: the last character of base64url has spare bits.
  if (!equalTexts(signed, signature)) return false
  const left = Number(expires) - now.getTime() / 1000
  return left > 0 && left <= SIGNED_URL_SECONDS_MAX + SKEW_SECONDS
}

type SigningKey = { key: Buffer; key_id: string }

const keys = new Map<string, SigningKey>()

/** Derived once for each secret: a purpose of its own, so that nothing else signed with the secret passes here. */
function signingKey(secret: string): SigningKey {
  let known = keys.get(secret)
  if (!known) {
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'kinora signed file urls v1', 32))
    const key_id = createHash('sha256').update('key id').update(key).digest('hex').slice(0, 8)
    known = { key, key_id }
    keys.set(secret, known)
  }
  return known
}

function sign(key: Buffer, claim: { key_id: string; method: string; file: SignedFile; expires: string }): string {
  const { key_id, method, file, expires } = claim
  const text = ['kinora-file-1', key_id, method, file.org_id, file.id, file.sha256, expires].join('\n')
  return createHmac('sha256', key).update(text).digest('base64url')
}

function equalTexts(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
