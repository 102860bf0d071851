import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'

/** Fingerprints of the secret that a node makes new values with, and of all that it accepts, that one included. */
export type SecretFingerprints = { secret: string; accepted_secrets: string[] }

/** The first of `secrets` is the current one. */
export async function fingerprintSecrets(secrets: readonly [string, ...string[]]): Promise<SecretFingerprints> {
  const accepted_secrets = await Promise.all(secrets.map(fingerprintOf))
  return { secret: accepted_secrets[0]!, accepted_secrets }
}

const derive = promisify(scrypt)

/**
 * The same for the same secret on every node, so that nodes can compare what they have through the database. A secret may be a pass phrase,
 * and the database may be copied: guessing costs 16 MB and some 50 ms a try. Nothing else is derived with this salt.
 */
async function fingerprintOf(secret: string): Promise<string> {
  return ((await derive(secret, 'kinora secret fingerprint v1', 16)) as Buffer).toString('base64url')
}
