import type { Mistake } from './mistake.ts'

export type SecretSettings = {
  /** Null: one is made and kept in the data directory. At least 32 bytes. */
  secret: string | null
  /** Secrets from before the present one that are still accepted, each of at least 32 bytes. */
  previous_secrets: readonly string[]
}

/** The secret of the service and the previous ones, from the environment. Mistakes are added to `found`, without the secrets. */
export function readSecrets(env: NodeJS.ProcessEnv, found: Mistake[]): SecretSettings {
  const secret = env.KINORA_SECRET ?? null
  const isShort = (each: string) => Buffer.byteLength(each) < 32
  if (secret !== null && isShort(secret)) {
    found.push({ place: 'KINORA_SECRET', message: 'must be at least 32 bytes; leave it unset to have one made' })
  }
  const entries = (env.KINORA_SECRET_PREVIOUS ?? '').split(',').map((each) => each.trim())
  for (const [i, each] of entries.entries()) {
    if (each === '' || !isShort(each)) continue
    const message = `entry ${i + 1} has ${Buffer.byteLength(each)} bytes, and a secret has at least 32; entries are separated by commas`
    found.push({ place: 'KINORA_SECRET_PREVIOUS', message })
  }
  const previous_secrets = entries.filter((each) => each !== '')
  return { secret, previous_secrets }
}
