import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SECRET_BYTES_MIN, secretsIn } from '../config/secrets.ts'
import { StartError } from '../platform/start-error.ts'

/**
 * The service's secret, at least 32 bytes: the configured one, or the one in the data directory (mode 0600). Where there is neither, a new
 * one, which `keep` writes there: a start that is refused leaves no secret behind.
 */
export function readSecret(configured: string | null, dataDir: string): { secret: string; keep(): void } {
  if (configured !== null) return { secret: configured, keep: () => {} }
  const path = join(dataDir, 'secret')
  if (!existsSync(path)) {
    const secret = randomBytes(32).toString('hex')
    return { secret, keep: () => writeOnce(path, secret) }
  }
  const secret = readFileSync(path, 'utf8').trim()
  if (Buffer.byteLength(secret) < 32) {
    throw new StartError(
      `The secret in ${path} is shorter than 32 bytes. Put the file back from a backup. If it is lost, delete the file to have a new one made and run 'kinora admin secret forget': people sign in again then, and second factors have to be reset (kinora admin user reset-two-factor).`,
    )
  }
  return { secret, keep: () => {} }
}

/** The secret while the service runs: a file that is gone is a mistake, and no new secret is made. */
export function rereadSecret(configured: string | null, dataDir: string): string {
  if (configured !== null || existsSync(join(dataDir, 'secret'))) return readSecret(configured, dataDir).secret
  throw new StartError(`Nothing was changed: there is no ${join(dataDir, 'secret')}. Put the secret back.`)
}

/** The configured previous secrets, else the lines of `secret.previous` in the data directory; none without that file. */
export function previousSecrets(configured: readonly string[], dataDir: string): readonly string[] {
  const path = join(dataDir, 'secret.previous')
  if (configured.length > 0 || !existsSync(path)) return configured
  const secrets = secretsIn(readFileSync(path, 'utf8'))
  if (secrets.some((each) => Buffer.byteLength(each) < SECRET_BYTES_MIN))
    throw new StartError(`A secret in ${path} is shorter than ${SECRET_BYTES_MIN} bytes.`)
  return secrets
}

/** Whole or not at all, and never over a file that is there. */
function writeOnce(path: string, text: string): void {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${text}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(draft, path)
  } finally {
    rmSync(draft)
  }
}
