import type { S3Client } from '@aws-sdk/client-s3'
import { BlobMissing, BlobsAway, DiskFull } from '../blobs.ts'
import type { MeasureCall } from '../metrics.ts'
import { type BucketBreaker, openBreaker } from './breaker.ts'

/** A bucket of S3, or of a server that speaks its protocol. */
export type S3Options = {
  /** Null: AWS. */
  endpoint: string | null
  region: string
  bucket: string
  /** What the names of all objects begin with: empty, or ends with a slash. */
  prefix: string
  /** Null: those that the AWS SDK finds on this machine. */
  credentials: { access_key_id: string; secret_access_key: string } | null
  force_path_style: boolean
  /** Whether engines are sent to the bucket. */
  presigned: boolean
  /** The S3 server as engines reach it; null: the same endpoint. */
  presigned_endpoint: string | null
}

export type Timeouts = {
  connect_ms: number
  /** Without an answer, before the bucket is asked whether it answers at all. */
  silence_ms: number
  /** Until the answer to that. */
  probe_ms: number
  /** Until the answer begins. */
  request_ms: number
  /** Until the answer to a part of an upload. */
  part_ms: number
  /** Between two chunks of an answer, while somebody waits for them. */
  stall_ms: number
  /** For a whole upload. */
  publish_ms: number
}

const TIMEOUTS: Timeouts = {
  connect_ms: 3_000,
  silence_ms: 4_000,
  probe_ms: 4_000,
  request_ms: 10_000,
  part_ms: 60_000,
  stall_ms: 10_000,
  publish_ms: 900_000,
}
/** Of one call, the first included. */
const ATTEMPTS = 3
/** The object that names the installation the blobs belong to. */
export const MARK = 'installation.json'

type Sdk = typeof import('@aws-sdk/client-s3')
type Connection = { sdk: Sdk; client: S3Client; timeout: { requestTimeout: number } }

/** The calls of one bucket. Every error that leaves it is one of `blobs.ts`, without host, URL or credential. */
export type Bucket = {
  name: string
  prefix: string
  timeouts: Timeouts
  call<T>(operation: string, run: (connection: Connection) => Promise<T>): Promise<T>
}

/** The SDK is read at the first call: a service on disk does not wait for it. `measure`: every call is made through it. */
export function openBucket(
  options: S3Options,
  {
    timeouts = {},
    measure = (_operation, call) => call(),
  }: { timeouts?: Partial<Timeouts>; measure?: MeasureCall | undefined } = {},
): Bucket {
  const limits = { ...TIMEOUTS, ...timeouts }
  let connecting: Promise<Connection> | null = null
  return {
    name: options.bucket,
    prefix: options.prefix,
    timeouts: limits,
    call(operation, run) {
      connecting ??= connect(options, limits)
      const connected = connecting
      return measure(operation, () =>
        connected.then(run).catch((error: unknown) => {
          throw blobError(operation, error)
        }),
      )
    },
  }
}

async function connect(options: S3Options, limits: Timeouts): Promise<Connection> {
  const sdk = await import('@aws-sdk/client-s3')
  const made = s3ClientOptions(options, limits)
  // Past the breakers, over the same connections.
  const probing = new sdk.S3Client(made)
  const mark = { Bucket: options.bucket, Key: `${options.prefix}${MARK}` }
  const probe = { Bucket: options.bucket, Key: `${options.prefix}probe`, Body: '' }
  const breakers = {
    all: openBreaker(limits, (abortSignal) => probing.send(new sdk.HeadObjectCommand(mark), { abortSignal })),
    writes: openBreaker(limits, (abortSignal) => probing.send(new sdk.PutObjectCommand(probe), { abortSignal })),
  }
  const client = new sdk.S3Client({ ...made, requestHandler: guarded(probing.config.requestHandler, breakers) })
  return { sdk, client, timeout: { requestTimeout: limits.request_ms } }
}

type Handler = S3Client['config']['requestHandler']

/** Each attempt of a call passes the breakers: a server may answer reads and hang at writes, as one does whose disk hangs. */
function guarded(handler: Handler, { all, writes }: { all: BucketBreaker; writes: BucketBreaker }): Handler {
  const handle: Handler['handle'] = (request, options) => {
    const { abortSignal: given } = (options ?? {}) as { abortSignal?: AbortSignal }
    const send = (...over: AbortSignal[]) =>
      handler.handle(request, { ...options, abortSignal: AbortSignal.any(given ? [given, ...over] : over) })
    const reads = request.method === 'GET' || request.method === 'HEAD'
    return all.guard((over) => (reads ? send(over) : writes.guard((alsoOver) => send(over, alsoOver))))
  }
  return Object.assign(Object.create(handler) as Handler, { handle })
}

/** What an S3Client is made from. */
export function s3ClientOptions(options: S3Options, limits: Pick<Timeouts, 'connect_ms' | 'part_ms'> = TIMEOUTS) {
  const { endpoint, region, credentials, force_path_style } = options
  // A reader who stops reading keeps its connection: a limit would let a few of them block everybody.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }
  return {
    region,
    ...(endpoint === null ? {} : { endpoint }),
    ...(credentials === null
      ? {}
      : { credentials: { accessKeyId: credentials.access_key_id, secretAccessKey: credentials.secret_access_key } }),
    forcePathStyle: force_path_style,
    maxAttempts: ATTEMPTS,
    // Servers other than AWS know the newer checksums not at all or wrongly; sha256 is asked for with each upload, and verified here on reading.
    requestChecksumCalculation: 'WHEN_REQUIRED' as const,
    responseChecksumValidation: 'WHEN_REQUIRED' as const,
    // It would log the names of hosts.
    logger: { trace() {}, debug() {}, info() {}, warn() {}, error() {} },
    requestHandler: {
      connectionTimeout: limits.connect_ms,
      requestTimeout: limits.part_ms,
      throwOnRequestTimeout: true,
      // Bodies have a limit of their own: a reader who pauses is not a server that stalls.
      socketTimeout: 0,
      httpAgent: agent,
      httpsAgent: agent,
    },
  }
}

/** What servers answer that have no room left: MinIO, Ceph, SeaweedFS. */
const FULL = new Set(['XMinioStorageFull', 'QuotaExceeded', 'InsufficientStorage', 'StorageFull'])

function blobError(operation: string, error: unknown): Error {
  if (error instanceof BlobMissing || error instanceof BlobsAway || error instanceof DiskFull) return error
  const {
    name = '',
    code = '',
    $metadata,
  } = error as {
    name?: string
    code?: string
    $metadata?: { httpStatusCode?: number }
  }
  const status = $metadata?.httpStatusCode
  // Any other 404 is of a bucket that does not exist, or of a server that is no S3.
  if (operation === 'GetObject' && status === 404 && name === 'NoSuchKey') return new BlobMissing('no such blob')
  if (status === 507 || FULL.has(name)) return new DiskFull('no space left in the bucket')
  // The texts of such errors name hosts, and some of them keys.
  const word = [code, name].find((each) => /^[A-Za-z][\w.]{0,60}$/.test(each)) ?? 'unknown error'
  return new BlobsAway(`${operation}: ${status === undefined ? '' : `${status} `}${word}`)
}
