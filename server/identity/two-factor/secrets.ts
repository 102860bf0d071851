import { ApiError } from '../../platform/errors.ts'
import { SECRET_VERSION } from '../login/library.ts'
import type { LoginContext } from '../login/sign-in.ts'
import { type Encrypted, findEncrypted, replaceEncrypted } from './store.ts'

/**
 * Re-encrypts a person's second factor with the current secret if it was encrypted with an earlier one: the login library knows only the
 * current one. Returns what is stored then, null for somebody without a second factor. Throws ApiError `conflict` when no accepted
 * secret opens it.
 */
export async function renewTwoFactor(
  login: Pick<LoginContext, 'db' | 'secrets'>,
  user_id: string,
): Promise<Encrypted | null> {
  const { db, secrets } = login
  for (;;) {
    const was = await findEncrypted(db, user_id)
    if (!was) return null
    const [secret, backup_codes] = await Promise.all([renewed(secrets, was.secret), renewed(secrets, was.backup_codes)])
    if (secret === null || backup_codes === null) throw unreadable(user_id)
    const now: Encrypted = { secret, backup_codes }
    if (now.secret === was.secret && now.backup_codes === was.backup_codes) return was
    // Changed by another request in the meantime otherwise: look again.
    if (await replaceEncrypted(db, user_id, { was, now })) return now
  }
}

/** The same when the current secret opens it, else encrypted with it; null when no secret opens it. */
async function renewed(secrets: LoginContext['secrets'], encrypted: string): Promise<string | null> {
  const { symmetricDecrypt, symmetricEncrypt } = await import('better-auth/crypto')
  for (const secret of secrets) {
    const data = await symmetricDecrypt({ key: keyOf(secret), data: encrypted }).catch(() => null)
    if (data === null) continue
    return secret === secrets[0] ? encrypted : symmetricEncrypt({ key: keyOf(secrets[0]), data })
  }
  return null
}

function keyOf(secret: string) {
  return { keys: new Map([[SECRET_VERSION, secret]]), currentVersion: SECRET_VERSION }
}

function unreadable(user_id: string): ApiError {
  const text =
    'Your second factor cannot be read: the secret of this service was changed. Ask its operator to reset it.'
  return new ApiError('conflict', text, {
    internal: `the second factor of ${user_id} was encrypted with a secret that is neither KINORA_SECRET nor in KINORA_SECRET_PREVIOUS`,
  })
}
