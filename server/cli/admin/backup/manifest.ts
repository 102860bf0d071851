import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Type from 'typebox'
import { Value } from 'typebox/value'
import { jsonIn } from '../../../platform/json/record.ts'
import { CommandError } from '../command.ts'

/** Of the layout below. A program reads backups up to this format; it changes when an older program would misread one. */
export const FORMAT = 2

const WrittenFile = Type.Object({
  /** Below the backup's directory. */
  file: Type.String({ pattern: '^[a-z0-9_]+(/[a-z0-9_]+)?([.][a-z]+)*$' }),
  size_bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
})

/** What is in a backup. It is written last: a directory without one is no backup. */
export type Manifest = Type.Static<typeof Manifest>
const Manifest = Type.Object({
  format: Type.Integer(),
  kinora: Type.String(),
  postgres: Type.String(),
  taken_at: Type.String(),
  installation_id: Type.String(),
  migrations: Type.Array(Type.Object({ number: Type.Integer(), name: Type.String(), sha256: Type.String() }), {
    minItems: 1,
  }),
  tables: Type.Array(
    Type.Object({
      table: Type.String({ pattern: '^[a-z0-9_]+$' }),
      columns: Type.Array(Type.String({ pattern: '^[a-z0-9_]+$' })),
      rows: Type.Integer(),
      ...WrittenFile.properties,
    }),
  ),
  sequences: Type.Array(Type.Object({ name: Type.String(), last: Type.String() })),
  /** The list has a line `key, sha256, size_bytes` for each blob, separated by tabs. */
  blobs: Type.Object({
    list: WrittenFile,
    count: Type.Integer(),
    size_bytes: Type.Integer(),
    missing: Type.Array(Type.String()),
  }),
  /** Null: not in the backup. */
  secret: Type.Union([WrittenFile, Type.Null()]),
  /** Absent: the data directory had no file of them, or the secret was left out. */
  previous_secrets: Type.Optional(WrittenFile),
})

const MANIFEST = 'manifest.json'
export const BLOBS = 'blobs'
export const BLOB_LIST = 'blobs.tsv'
export const SECRET = 'secret'
export const PREVIOUS_SECRETS = 'secret.previous'

/** The files of secrets that are in a backup. */
export function secretFiles({ secret, previous_secrets }: Manifest) {
  return [secret, previous_secrets].filter((file) => file != null)
}

/** Completes a backup: with a digest of itself, so that a change in it is noticed. */
export async function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  const whole = { ...manifest, sha256: digestOf(manifest) }
  await writeFile(join(dir, MANIFEST), `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600, flush: true })
}

function digestOf(manifest: object): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}

/** Throws CommandError for a directory that is no whole backup, one of a newer format, or one whose manifest was changed. */
export async function readManifest(dir: string): Promise<Manifest> {
  const found = await readFile(join(dir, MANIFEST), 'utf8').then(jsonIn, (error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'It has no manifest.json' : error.message
    throw new CommandError(`${dir} is not a whole backup. ${reason}: name a directory that 'kinora admin backup' made.`)
  })
  const { sha256, ...manifest } = (found ?? {}) as { format?: unknown; sha256?: unknown }
  const { format } = manifest
  if (typeof format === 'number' && format > FORMAT) {
    throw new CommandError(
      `The backup ${dir} has format ${format}, and this version of Kinora reads ${FORMAT}. Restore it with a newer version.`,
    )
  }
  if (sha256 === digestOf(manifest) && Value.Check(Manifest, manifest)) return manifest
  throw new CommandError(`The backup ${dir} is damaged: manifest.json is not as it was written. Use another backup.`)
}
