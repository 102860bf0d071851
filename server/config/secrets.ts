import { readFileSync } from 'node:fs'
import type { ConfigMistake } from './mistake.ts'

export type SecretSettings = {
  /** Null: one is made and kept in the data directory. At least 32 bytes. */
  secret: string | null
  /** Secrets from before the present one that are still accepted, each of at least 32 bytes. */
  previous_secrets: readonly string[]
}

export const SECRET_BYTES_MIN = 32

/**
 * The secret of the service and the previous ones, from the environment or from the files it names. Mistakes are added to `found`, without
 * the secrets.
 */
export function readSecrets(env: NodeJS.ProcessEnv, found: ConfigMistake[]): SecretSettings {
  const isShort = (each: string) => Buffer.byteLength(each) < SECRET_BYTES_MIN
  const [place, secret] = settingOrFile('KINORA_SECRET', env, found)
  if (secret !== null && isShort(secret)) {
    found.push({ place, message: `must be at least ${SECRET_BYTES_MIN} bytes; leave it unset to have one made` })
  }
  const [place_previous, text] = settingOrFile('KINORA_SECRET_PREVIOUS', env, found)
  for (const [i, each] of entriesIn(text ?? '').entries()) {
    if (each === '' || !isShort(each)) continue
    const message = `entry ${i + 1} has ${Buffer.byteLength(each)} bytes, and a secret has at least ${SECRET_BYTES_MIN}; entries are separated by commas or lines`
    found.push({ place: place_previous, message })
  }
  return { secret, previous_secrets: secretsIn(text ?? '') }
}

/** Secrets separated by commas or lines. */
export function secretsIn(text: string): string[] {
  return entriesIn(text).filter((each) => each !== '')
}

function entriesIn(text: string): string[] {
  return text.split(/[,\n]/).map((each) => each.trim())
}

/** What a file holds, without the line end that editors and `echo` leave; a text that says why it cannot be read. */
export function readSecretFile(path: string): { text: string } | { problem: string } {
  try {
    const text = readFileSync(path, 'utf8').trim()
    return text === '' ? { problem: `the file ${path} is empty` } : { text }
  } catch (error) {
    return { problem: `the file ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})` }
  }
}

/** The variable, or the content of the file that the variable with `_FILE` names, after the name of whichever is set. */
function settingOrFile(
  name: string,
  env: NodeJS.ProcessEnv,
  found: ConfigMistake[],
): [place: string, text: string | null] {
  const [own, path] = [env[name], env[`${name}_FILE`]]
  if (!path) return [name, own ?? null]
  const place = `${name}_FILE`
  if (own !== undefined) {
    found.push({ place, message: `cannot be used with ${name}; set one of the two` })
    return [place, null]
  }
  const read = readSecretFile(path)
  if ('text' in read) return [place, read.text]
  // An empty list of previous secrets is the usual one.
  if (name === 'KINORA_SECRET' || !read.problem.endsWith('is empty')) found.push({ place, message: read.problem })
  return [place, null]
}
