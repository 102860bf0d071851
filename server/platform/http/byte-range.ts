/** What a request asks of bytes it may already hold. Names are those of the HTTP headers. */
export type RangeRequest = {
  method: string
  range: string | undefined
  if_range: string | undefined
  if_none_match: string | undefined
}

/** `start` and `end` are offsets of the first and the last byte, both inclusive; `end` is −1 for no bytes at all. */
export type RangeAnswer = { status: 200 | 206; start: number; end: number } | { status: 304 } | { status: 416 }

/**
 * Decides what to send of `size` bytes known by the strong entity tag `etag` (with its quotes). One satisfiable range gives 206,
 * several give the whole, an unsatisfiable one 416, and a header that is not a byte range is ignored.
 * Source: RFC 9110, 13.1.2 If-None-Match, 13.1.5 If-Range, 14.1.2 Byte Ranges; contract 5.5.
 */
export function chooseRange(request: RangeRequest, content: { size: number; etag: string }): RangeAnswer {
  const { size, etag } = content
  const whole = { status: 200, start: 0, end: size - 1 } as const
  if (request.if_none_match !== undefined && namesTag(request.if_none_match, etag)) return { status: 304 }
  // Only GET has ranges; If-Range compares strongly, and a date can never match because no Last-Modified is sent.
  if (request.method !== 'GET' || request.range === undefined) return whole
  if (request.if_range !== undefined && request.if_range.trim() !== etag) return whole
  const range = onlyRange(request.range)
  return range === null ? whole : resolve(range, size)
}

type Range = { first: bigint | null; last: bigint | null }

/** Whether an If-None-Match list names the opaque part of a tag (quotes included, no `W/`): weak comparison; `*` names any. */
export function namesTag(list: string, etag: string): boolean {
  if (list.trim() === '*') return true
  const tags: string[] = list.match(/"[^"]*"/g) ?? []
  return tags.includes(etag)
}

/** The one range of a header; null when there are several or the header is not a well-formed set of byte ranges. */
function onlyRange(header: string): Range | null {
  const set = /^\s*bytes\s*=(.*)$/i.exec(header)?.[1]
  const specs = (set ?? '').split(',').flatMap((part) => part.trim() || [])
  const match = specs.length === 1 ? /^(\d*)-(\d*)$/.exec(specs[0]!) : null
  if (!match || specs[0] === '-') return null
  const range = { first: match[1] ? BigInt(match[1]) : null, last: match[2] ? BigInt(match[2]) : null }
  return range.first !== null && range.last !== null && range.last < range.first ? null : range
}

function resolve({ first, last }: Range, size: number): RangeAnswer {
  if (first === null) {
    const count = Math.min(Number(last), size)
    return count === 0 ? { status: 416 } : { status: 206, start: size - count, end: size - 1 }
  }
  if (first >= BigInt(size)) return { status: 416 }
  const end = last === null || last >= BigInt(size) ? size - 1 : Number(last)
  return { status: 206, start: Number(first), end }
}
