import Type, { type Static } from 'typebox'
import type { S3Options } from '../platform/blobs/s3/bucket.ts'
import type { Path } from './mistake.ts'

const ENDPOINT = '^https?://[^/?#@\\s]+$'
const endpoint = (description: string) =>
  Type.String({
    pattern: ENDPOINT,
    description,
    patternErrorMessage: 'must be http:// or https:// with a host and no path, such as https://s3.example.com',
  })

const STORE = {
  kind: Type.Enum(['disk', 's3'], { description: 'disk is the data directory, s3 a bucket.' }),
  endpoint: Type.Optional(endpoint('The S3 server. Default that of AWS in the region.')),
  region: Type.Optional(Type.String({ minLength: 1 })),
  bucket: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$',
      patternErrorMessage: 'must be 3 to 63 lower-case letters, digits, points and hyphens',
    }),
  ),
  prefix: Type.Optional(
    Type.String({
      pattern: '^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*$',
      maxLength: 200,
      description: 'What the names of all objects begin with, such as kinora/. Default nothing.',
      patternErrorMessage: 'must be letters, digits and . _ - and end with a slash, such as kinora/',
    }),
  ),
  access_key_id: Type.Optional(Type.String({ minLength: 1 })),
  secret_access_key: Type.Optional(
    Type.String({ minLength: 1, description: 'Best taken from an environment variable.' }),
  ),
  force_path_style: Type.Optional(
    Type.Boolean({ description: 'The bucket is in the path, not in the host name. Default true with an endpoint.' }),
  ),
  presigned: Type.Optional(
    Type.Boolean({ description: 'Engines fetch files from the bucket itself, by presigned URLs. Default false.' }),
  ),
  presigned_endpoint: Type.Optional(endpoint('The S3 server as engines reach it. Default endpoint.')),
}
const AlsoRead = Type.Object(STORE, {
  additionalProperties: false,
  description: 'The storage that files are being moved from: kinora admin blobs move.',
})

/** `storage`: where files are kept. */
export const Storage = Type.Object({ ...STORE, also_read: Type.Optional(AlsoRead) }, { additionalProperties: false })
type StoreEntry = Static<typeof AlsoRead>

export type DiskStore = { kind: 'disk' }
export type S3Store = { kind: 's3' } & S3Options
export type StoreConfig = DiskStore | S3Store
/** `also_read`: where blobs are that have not been moved yet. */
export type StorageConfig = StoreConfig & { also_read: StoreConfig | null }

/** Whether other nodes can read every file of this one: none is on its own disk. */
export function isShared({ kind, also_read }: StorageConfig): boolean {
  return kind !== 'disk' && also_read?.kind !== 'disk'
}

/** Fills in the defaults. */
export function completeStorage({ also_read, ...store }: Static<typeof Storage> = { kind: 'disk' }): StorageConfig {
  return { ...completeStore(store), also_read: also_read ? completeStore(also_read) : null }
}

function completeStore(entry: StoreEntry): StoreConfig {
  if (entry.kind === 'disk') return { kind: 'disk' }
  const { access_key_id, secret_access_key, endpoint = null } = entry
  return {
    kind: 's3',
    endpoint,
    region: entry.region!,
    bucket: entry.bucket!,
    prefix: entry.prefix ?? '',
    credentials: access_key_id && secret_access_key ? { access_key_id, secret_access_key } : null,
    force_path_style: entry.force_path_style ?? endpoint !== null,
    presigned: entry.presigned ?? false,
    presigned_endpoint: entry.presigned_endpoint ?? null,
  }
}

/** What the schema cannot express: which settings belong to which kind, and which belong together. */
export function* storageMistakes(
  storage: Static<typeof Storage> | undefined,
  content_delivery: string | undefined,
): Generator<[Path, string]> {
  if (!storage) return
  const { also_read, ...store } = storage
  yield* storeMistakes(store, ['storage'])
  if (content_delivery === 'x-accel' && store.kind !== 'disk')
    yield [['content_delivery'], 'x-accel needs storage.kind disk: nginx reads the files from the disk']
  if (!also_read) return
  yield* storeMistakes(also_read, ['storage', 'also_read'])
  if (isSamePlace(store, also_read)) yield [['storage', 'also_read'], 'is the same storage; leave it out']
}

function* storeMistakes(entry: StoreEntry, path: Path): Generator<[Path, string]> {
  if (entry.kind === 'disk') {
    for (const name of Object.keys(entry)) if (name !== 'kind') yield [[...path, name], 'is a setting of kind s3']
    return
  }
  for (const name of ['region', 'bucket'] as const) {
    if (entry[name] === undefined) yield [[...path, name], 'is missing; kind s3 needs it']
  }
  const [id, secret] = ['access_key_id', 'secret_access_key'] as const
  for (const [given, wanted] of [[id, secret] as const, [secret, id] as const]) {
    if (entry[given] !== undefined && entry[wanted] === undefined)
      yield [[...path, wanted], `is missing beside ${given}`]
  }
  if (entry.presigned_endpoint !== undefined && entry.presigned !== true)
    yield [[...path, 'presigned_endpoint'], 'needs presigned: true']
}

function isSamePlace(one: StoreEntry, other: StoreEntry): boolean {
  const place = ({ kind, endpoint, bucket, prefix = '' }: StoreEntry) => [kind, endpoint, bucket, prefix].join('\n')
  return place(one) === place(other)
}
