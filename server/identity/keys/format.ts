import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * A new API key: `<prefix>_`, 30 random base62 characters (178 bits), 6 base62 characters of their CRC-32.
 * Source: docs/api/console.md, API keys.
 */
export function mintKey(prefix: string): string {
  const random = randomText(RANDOM_LENGTH)
  return `${prefix}_${random}${checksumOf(random)}`
}

/**
 * Whether `text` has the form of a key and its checksum, so that a slip or a scanner's guess costs no database read.
 * Any prefix passes: keys made before the configured one changed stay good.
 */
export function isKey(text: string): boolean {
  const match = KEY.exec(text)
  return match !== null && checksumOf(match[1]!) === match[2]
}

/** What is stored and looked up: the whole SHA-256, as hex. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex')
}

/** What listings show: prefix and last four characters. */
export function apiKeyHint(key: string): string {
  return `${key.slice(0, key.indexOf('_') + 1)}...${key.slice(-4)}`
}

/** `length` characters of `0-9A-Za-z`, each equally likely. */
export function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < FAIR_BYTES && text.length < length) text += ALPHABET[byte % 62]
    }
  }
  return text
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 30
const KEY = /^[a-z][a-z0-9]{1,7}_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/
/** The largest multiple of 62 in a byte: above it some characters would come more often. */
const FAIR_BYTES = 248

function checksumOf(text: string): string {
  let value = crc32(text)
  let digits = ''
  for (let i = 0; i < 6; i++) {
    digits = ALPHABET[value % 62] + digits
    value = Math.floor(value / 62)
  }
  return digits
}
