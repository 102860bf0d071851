import { randomBytes } from 'node:crypto'
import type { Context } from '../context.ts'
import { sealText, textUnsealer } from '../platform/crypto/seal.ts'
import type { EndpointRow } from './store/endpoints.ts'

/** A new signing secret in the form of Standard Webhooks: `whsec_` and 32 random bytes as base64. */
export function mintSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** What listings show of a secret. */
export function signingSecretHint(secret: string): string {
  return `whsec_...${secret.slice(-4)}`
}

/** Encrypts a signing secret for one endpoint. */
export function sealSecret(ctx: Pick<Context, 'secret'>, endpoint_id: string, secret: string): string {
  return sealText(ctx.secret, { label: LABEL, binding: endpoint_id }, secret)
}

/**
 * The secrets that sign at `now`, the newest first; the previous one is left out when it cannot be read. Null when the present one cannot:
 * the secret of the service was changed.
 */
export function signingSecrets(ctx: Pick<Context, 'secrets'>, endpoint: EndpointRow, now: Date): string[] | null {
  const { id, secret, previous_secret, previous_secret_until } = endpoint
  const unseal = textUnsealer(ctx.secrets, LABEL)
  const present = unseal(id, secret)
  if (present === null) return null
  const overlaps = previous_secret !== null && previous_secret_until !== null && previous_secret_until > now
  const previous = overlaps ? unseal(id, previous_secret) : null
  return previous === null ? [present] : [present, previous]
}

/** Encrypts what others sealed with the current secret of the service: null when it is so already, `unreadable` when no secret opens it. */
export function resealer({
  secret,
  secrets,
}: Pick<Context, 'secret' | 'secrets'>): (endpoint_id: string, sealed: string) => string | null {
  const [current, any] = [textUnsealer([secret], LABEL), textUnsealer(secrets, LABEL)]
  return (endpoint_id, sealed) => {
    if (current(endpoint_id, sealed) !== null) return null
    const text = any(endpoint_id, sealed)
    return text === null ? 'unreadable' : sealSecret({ secret }, endpoint_id, text)
  }
}

const LABEL = 'kinora:webhooks:secret'
