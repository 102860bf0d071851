import pino from 'pino'

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
  file_id?: string
  attempt_id?: string
  job_status?: string
  step?: string
  code?: string
  engine?: string
  engine_code?: string
  sweep?: string
  invariant?: string
  count?: number
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
  'file_id',
  'attempt_id',
  'job_status',
  'step',
  'code',
  'engine',
  'engine_code',
  'sweep',
  'invariant',
  'count',
  'url',
  'detail',
])

/** A log whose level may change. */
export type OpenLog = Log & { setLevel(level: string): void }

/** JSON lines on stderr. `level` is a pino level, `silent` included. */
export function openLog(level: string, destination: { write(line: string): void } = process.stderr): OpenLog {
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'event' }, destination)
  const write =
    (method: keyof Log) =>
    (event: string, fields: LogFields = {}) => {
      if (logger.isLevelEnabled(method)) logger[method](allowed(fields), event)
    }
  return {
    ...{ debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    setLevel(next) {
      logger.level = next
    },
  }
}

/** A log that discards everything. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

function allowed(fields: LogFields): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'error') out.error = describe(value)
    else if (FIELDS.has(name) && value !== undefined) out[name] = typeof value === 'string' ? scrub(value) : value
  }
  return out
}

/** Name, code, scrubbed message and the frames of the stack; never the properties of an error, which may hold rows and bodies. */
function describe(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error }
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return {
    name: error.name,
    code: 'code' in error ? String(error.code) : undefined,
    message: scrub(error.message),
    stack: frames.slice(0, 12).map((line) => line.trim()),
    cause: error.cause === undefined ? undefined : describe(error.cause),
  }
}

/** Takes out what an error text can carry by accident: quoted values, API keys, query strings; and bounds the length. */
function scrub(text: string): string {
  return text
    .slice(0, 600)
    .replace(/\bkin_[0-9A-Za-z]{8,}\b/g, 'kin_…')
    .replace(/\?[^\s"']*/g, '?…')
    .replace(/"[^"]*"?/g, '"…"')
    .replace(/(^|[^A-Za-z])'[^']*'?/g, "$1'…'")
}
