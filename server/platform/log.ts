import pino from 'pino'
import { bufferLines } from './log/buffered-lines.ts'

/**
 * Everything a log line may hold. Bodies, prompts, headers, query strings and file names have no field here, and a field that is
 * not listed is dropped, so that a careless call cannot leak one.
 */
export type LogFields = {
  request_id?: string
  method?: string
  route?: string
  status?: number
  duration_ms?: number
  /** Of the caller, as the sign-in limits count it. */
  address?: string
  org_id?: string
  user_id?: string
  key_id?: string
  video_id?: string
  response_id?: string
  file_id?: string
  attempt_id?: string
  endpoint_id?: string
  event_id?: string
  job_status?: string
  step?: string
  code?: string
  engine?: string
  engine_code?: string
  sweep?: string
  invariant?: string
  count?: number
  failed_requests?: number
  failed_work?: number
  url?: string
  detail?: string
  error?: unknown
}

export type Log = Record<'debug' | 'info' | 'warn' | 'error', (event: string, fields?: LogFields) => void>

const FIELDS: ReadonlySet<string> = new Set<keyof LogFields>([
  'request_id',
  'method',
  'route',
  'status',
  'duration_ms',
  'address',
  'org_id',
  'user_id',
  'key_id',
  'video_id',
  'response_id',
  'file_id',
  'attempt_id',
  'endpoint_id',
  'event_id',
  'job_status',
  'step',
  'code',
  'engine',
  'engine_code',
  'sweep',
  'invariant',
  'count',
  'failed_requests',
  'failed_work',
  'url',
  'detail',
])

/** A log whose level may change. `flush` writes the lines that wait. */
export type OpenLog = Log & { setLevel(level: string): void; flush(): void }

/** JSON lines on stderr, where all but errors wait a little. `level` is a pino level, `silent` included. */
export function openLog(level: string, destination: { write(line: string): void } = process.stderr): OpenLog {
  const { fd } = destination as { fd?: number }
  const onDropped = (count: number) => log.error('log_lines_dropped', { count })
  const buffered = fd === STDERR ? bufferLines(fd, onDropped) : null
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'event' }
  const logger = pino(options, buffered ?? destination)
  const write =
    (method: keyof Log) =>
    (event: string, fields: LogFields = {}) => {
      if (logger.isLevelEnabled(method)) logger[method](allowed(fields), event)
    }
  const flush = () => buffered?.flush()
  const writeError = write('error')
  const log: OpenLog = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error(event, fields) {
      writeError(event, fields)
      flush()
    },
    setLevel(next) {
      logger.level = next
    },
    flush,
  }
  return log
}

const STDERR = 2

/** A log that discards everything. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

function allowed(fields: LogFields): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const name in fields) {
    const value = fields[name as keyof LogFields]
    if (name === 'error') out.error = describeShortly(value)
    else if (FIELDS.has(name) && value !== undefined) out[name] = typeof value === 'string' ? scrub(value) : value
  }
  return out
}

/** Most bytes of an error, which leaves the line short enough for one write to a pipe: see `log/buffered-lines.ts`. */
const ERROR_BYTES_MAX = 2800
/** How much of an error is logged: the frames of each stack and the causes. The first that is short enough is taken, else the last. */
const SIZES = [
  { frames: 12, causes: 3 },
  { frames: 4, causes: 3 },
  { frames: 4, causes: 1 },
  { frames: 0, causes: 0 },
]

function describeShortly(error: unknown): Record<string, unknown> {
  const described = SIZES.map((size) => describe(error, size))
  return described.find((each) => Buffer.byteLength(JSON.stringify(each)) <= ERROR_BYTES_MAX) ?? described.at(-1)!
}

/** Name, code, scrubbed message and the frames of the stack; never the properties of an error, which may hold rows and bodies. */
function describe(error: unknown, { frames, causes }: { frames: number; causes: number }): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error }
  const stack = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  const hasCause = error.cause !== undefined && causes > 0
  return {
    name: error.name,
    code: 'code' in error ? String(error.code) : undefined,
    message: scrub(error.message),
    stack: stack.slice(0, frames).map((line) => line.trim()),
    cause: hasCause ? describe(error.cause, { frames, causes: causes - 1 }) : undefined,
  }
}

/** Takes out what an error text can carry by accident: quoted values, API keys, tokens of share links, query strings; and bounds the length. */
function scrub(text: string): string {
  if (text.length <= 600 && !/[?"']|kin_|\/s\//.test(text)) return text
  return text
    .slice(0, 600)
    .replace(/\bkin_[0-9A-Za-z]{8,}\b/g, 'kin_…')
    .replace(/\/s\/[\w-]{8,}/g, '/s/…')
    .replace(/\?[^\s"']*/g, '?…')
    .replace(/"[^"]*"?/g, '"…"')
    .replace(/(^|[^A-Za-z])'[^']*'?/g, "$1'…'")
}
