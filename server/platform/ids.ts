import { randomFillSync } from 'node:crypto'

/** Prefixes of contract section 1.2 and of our own objects. Files are joined by a dash, as the OpenAI convention has it. */
const JOINS = {
  video: 'video_',
  file: 'file-',
  org: 'org_',
  user: 'user_',
  key: 'key_',
  attempt: 'att_',
  entry: 'le_',
  record: 'mod_',
  installation: 'inst_',
  reload: 'rel_',
  activity: 'act_',
  node: 'node_',
  incident: 'inc_',
  webhook_endpoint: 'whe_',
  event: 'evt_',
  conversation: 'conv_',
  share_link: 'share_',
} as const
export type IdKind = keyof typeof JOINS

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

/**
 * A new id: prefix and ULID, monotonic within this process, so that ids sort by time of creation.
 * Sort them bytewise (`collate "C"`).
 */
export function newId(kind: IdKind, now: Date = new Date()): string {
  return JOINS[kind] + monotonicUlid(now.getTime())
}

/** Sorts before every id of this kind that was made at `at` or later, and after those made before. */
export function firstId(kind: IdKind, at: Date): string {
  return JOINS[kind] + encode(BigInt(at.getTime()), 10)
}

/** True for the form `newId(kind)` gives, whether or not such an object exists. */
export function isId(kind: IdKind, value: string): boolean {
  const prefix = JOINS[kind]
  return value.startsWith(prefix) && ULID.test(value.slice(prefix.length))
}

/**
 * `req_` and 32 hex digits: names one HTTP request in answers and logs. Twelve are the time in milliseconds and the others random, as in a
 * UUID of version 7, so that the index of charged requests grows at its end.
 */
export function newRequestId(): string {
  return `req_${Date.now().toString(16).padStart(12, '0')}${randomHex(10)}`
}

/** Random hex digits for `bytes` bytes, at most 4096: fresh ones from the system's generator, which is asked for many at a time. */
export function randomHex(bytes: number): string {
  if (poolUsed + bytes > pool.length) {
    randomFillSync(pool)
    poolUsed = 0
  }
  poolUsed += bytes
  return pool.toString('hex', poolUsed - bytes, poolUsed)
}

const pool = Buffer.alloc(4096)
let poolUsed = pool.length

// Process-wide, so that ids of one process are in order whoever asks for them.
let lastTime = 0
let lastRandom = 0n

function monotonicUlid(time: number): string {
  if (time > lastTime) {
    lastTime = time
    // The top bit stays free so that counting up within a millisecond cannot overflow 80 bits.
    lastRandom = BigInt(`0x${randomHex(10)}`) & ((1n << 79n) - 1n)
  } else {
    lastRandom += 1n
  }
  return encode(BigInt(lastTime), 10) + encode(lastRandom, 16)
}

function encode(value: bigint, length: number): string {
  let text = ''
  for (let i = 0; i < length; i++) {
    text = ALPHABET[Number(value & 31n)] + text
    value >>= 5n
  }
  return text
}
