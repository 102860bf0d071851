import assert from 'node:assert/strict'
import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { withEnding } from '../media/probe/recognize.ts'
import { unixSeconds } from '../platform/clock.ts'

/** Longest life of a signed URL. One that is bound to a pin ends with the pin, so it may live as long as any render. */
const SIGNED_URL_SECONDS_MAX = 900
const PINNED_URL_SECONDS_MAX = 604_800
/** How far the clocks of the signing and the answering machine may differ. */
const SKEW_SECONDS = 60

/** What a signature binds: these very bytes of this file of this organization. */
type BoundFile = { id: string; org_id: string; sha256: string }
/** The type decides how the URL ends, before its query. */
export type SignedFile = BoundFile & { media_type: string }

/** The query of a signed URL as it arrived: anything. */
export type SignedQuery = { expires?: unknown; key?: unknown; pin?: unknown; signature?: unknown }

/**
 * A URL that serves one file to whoever holds it, for `ttl_seconds`: how engines fetch references without a credential. With `pin`, the
 * holder of a pin, it ends with the pin and lives 1 to 604,800 s; without 1 to 900 s.
 * HMAC-SHA256 over key id, method, organization, file, sha256, expiry and pin. `secret` is the service's secret of at least 32 bytes.
 */
export function signFileUrl(options: {
  secret: string
  base_url: string
  file: SignedFile
  now: Date
  ttl_seconds: number
  pin?: string
}): string {
  const { secret, base_url, file, now, ttl_seconds, pin } = options
  const max = longestLife(pin)
  assert(Number.isInteger(ttl_seconds) && ttl_seconds >= 1 && ttl_seconds <= max, `ttl_seconds is 1 to ${max}`)
  const expires = String(unixSeconds(now) + ttl_seconds)
  const { key, key_id } = signingKey(secret)
  const signature = sign(key, { key_id, method: 'GET', file, expires, pin })
  const pinned = pin === undefined ? '' : `&pin=${pin}`
  const name = withEnding('file', file.media_type)
  return `${base_url}/v1/files/${file.id}/signed/${name}?expires=${expires}&key=${key_id}${pinned}&signature=${signature}`
}

/**
 * Whether a request for `file` carries a signature of ours that is still valid. A signature for GET is valid for HEAD. `secrets` lists the
 * current secret and those before it that are still accepted.
 */
export function isSignedFor(options: {
  secrets: readonly string[]
  file: BoundFile
  method: string
  query: SignedQuery
  now: Date
}): boolean {
  const { secrets, file, method, query, now } = options
  const { expires, key, pin, signature } = query
  if (typeof expires !== 'string' || typeof key !== 'string' || typeof signature !== 'string') return false
  if (pin !== undefined && typeof pin !== 'string') return false
  const used = secrets.map(signingKey).find((each) => each.key_id === key)
  if (!used || !/^[1-9]\d{0,11}$/.test(expires)) return false
  const signed = sign(used.key, { key_id: key, method: method === 'HEAD' ? 'GET' : method, file, expires, pin })
  // The texts are compared, not the bytes they encode: the last character of base64url has spare bits.
  if (!equalTexts(signed, signature)) return false
  const left = Number(expires) - now.getTime() / 1000
  return left > 0 && left <= longestLife(pin) + SKEW_SECONDS
}

function longestLife(pin: string | undefined): number {
  return pin === undefined ? SIGNED_URL_SECONDS_MAX : PINNED_URL_SECONDS_MAX
}

type SigningKey = { key: Buffer; key_id: string }

/** A key for this purpose alone, so that nothing else signed with the secret is valid here. */
function signingKey(secret: string): SigningKey {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'kinora signed file urls v1', 32))
  const key_id = createHash('sha256').update('key id').update(key).digest('hex').slice(0, 8)
  return { key, key_id }
}

type Bound = { key_id: string; method: string; file: BoundFile; expires: string; pin: string | undefined }

function sign(key: Buffer, { key_id, method, file, expires, pin }: Bound): string {
  const bound = [key_id, method, file.org_id, file.id, file.sha256, expires]
  const text = (pin === undefined ? ['kinora-file-1', ...bound] : ['kinora-pinned-file-1', ...bound, pin]).join('\n')
  return createHmac('sha256', key).update(text).digest('base64url')
}

function equalTexts(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
