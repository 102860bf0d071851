import fc from 'fast-check'
import type { Route } from '../../server/identity/caller/route.ts'
import type { JsonSchema } from '../../server/platform/schema/explain.ts'

/** One request as it is printed, replayed and kept in the corpus. `body` is UTF-8 text; null sends none. */
export type FuzzRequest = {
  /** How the caller shows who they are. */
  by: 'key' | 'cookie' | 'both' | 'none'
  method: string
  path: string
  headers: Record<string, string>
  body: string | null
}

/** Ids that exist and ids that do not, for the places where an id is expected. */
export type Known = { ids: readonly string[]; pictures: readonly string[]; model: string }

/** Requests near what the endpoint takes: its own schemas, bent. */
export function requestsFor(endpoint: Route, known: Known): fc.Arbitrary<FuzzRequest> {
  const params = fc.array(
    fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known.ids) }, { weight: 1, arbitrary: odd_text }),
    { minLength: 3, maxLength: 3 },
  )
  const path = fc.tuple(params, queryOf(endpoint, known)).map(([values, query]) => {
    let i = 0
    return endpoint.path.replace(/:\w+/g, () => encoded(values[i++]!)) + query
  })
  const none = fc.constant<Pick<FuzzRequest, 'headers' | 'body'>>({ headers: {}, body: null })
  const body =
    endpoint.method === 'GET'
      ? none
      : fc.oneof({ weight: 1, arbitrary: none }, { weight: 9, arbitrary: bodyOf(endpoint, known) })
  const fitting = endpoint.auth === 'session' ? 'cookie' : 'key'
  const by = fc.oneof({ weight: 6, arbitrary: fc.constant(fitting) }, fc.constantFrom('key', 'cookie', 'both', 'none'))
  return fc
    .tuple(path, body, odd_headers, by as fc.Arbitrary<FuzzRequest['by']>)
    .map(([at, { headers, body: text }, more, by]) => ({
      by,
      method: endpoint.method,
      path: at,
      headers: { ...more, ...headers },
      body: text,
    }))
}

/** Stands for a number JSON allows and JavaScript cannot write. */
const HUGE = '@1e400@'

const BOUNDARY = 'kinora-fuzz'

const odd_text = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    '\udc00\ud800',
    '\u{1F3AC}',
    'e\u0301',
    '\ufeff',
    "' or 1=1 --",
    '../../etc/passwd',
    '%00',
    '%zz',
    '$1',
    '__proto__',
    'null',
    HUGE,
  ),
  fc.constantFrom(7000, 7001, 600).map((length) => 'x'.repeat(length)),
  fc.string({ unit: 'binary', maxLength: 20 }),
)
const odd = fc.oneof(
  odd_text as fc.Arbitrary<unknown>,
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -0,
    -1,
    3,
    16,
    1.5,
    2 ** 31,
    2 ** 53,
    1e21,
    -1e300,
    [],
    {},
    [[]],
    [null],
    { file_id: null },
  ),
  fc.constantFrom(63, 64, 65, 500).map(nested),
)
const odd_headers = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  fc.constantFrom<Record<string, string>>(
    { 'idempotency-key': 'k' },
    { 'idempotency-key': '' },
    { 'idempotency-key': 'x'.repeat(256) },
    { range: 'bytes=0-0' },
    { range: 'bytes=-0' },
    { range: 'bytes=9999999999999999999999-' },
    { 'if-none-match': '*' },
    { 'if-none-match': '"' },
    { 'accept-encoding': 'gzip, br, x' },
    { accept: 'text/html' },
    { 'x-request-id': '../..' },
    { 'sec-fetch-site': 'none' },
    { 'content-encoding': 'gzip' },
  ),
)

function queryOf({ query }: Route, known: Known): fc.Arbitrary<string> {
  if (!query) return fc.constantFrom('', '?', '?x=1')
  const names = Object.keys((query as JsonSchema).properties ?? {})
  const value = fc.oneof(
    fc.constantFrom(
      ...known.ids,
      '1',
      '0',
      '100',
      '101',
      '10abc',
      '1e9',
      'asc',
      'desc',
      'video',
      'thumbnail',
      'day',
      'key',
    ),
    odd_text,
  )
  const pairs = fc.array(fc.tuple(fc.constantFrom(...names, 'x', '__proto__'), value), { maxLength: 3 })
  return pairs.map((list) =>
    list.length === 0 ? '' : `?${list.map(([name, text]) => `${name}=${encoded(text)}`).join('&')}`,
  )
}

function bodyOf(endpoint: Route, known: Known): fc.Arbitrary<Pick<FuzzRequest, 'headers' | 'body'>> {
  const values = endpoint.body ? bent(fromSchema(endpoint.body as JsonSchema, known)) : odd
  const json = values.map((value) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value)?.replaceAll(`"${HUGE}"`, '1e400') ?? '',
  }))
  const cut = fc.tuple(json, fc.nat(200)).map(([{ headers, body }, at]) => ({ headers, body: body.slice(0, at) }))
  const typed = fc
    .tuple(json, fc.constantFrom('text/plain', '', 'application/json; charset=x', 'multipart/form-data'))
    .map(([{ body }, type]) => ({
      headers: { 'content-type': type },
      body,
    }))
  const forms = values.map((value) => ({
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    body: form(value),
  }))
  const takesForms = endpoint.accepts?.includes('multipart')
  return fc.oneof({ weight: 8, arbitrary: json }, { weight: takesForms ? 8 : 1, arbitrary: forms }, cut, typed)
}

/** Values a schema accepts, most of the time. */
function fromSchema(schema: JsonSchema, known: Known, name = ''): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((variant) => fromSchema(variant, known, name)))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.type === 'integer') return fc.integer({ min: schema.minimum ?? -5, max: schema.maximum ?? 1000 })
  if (schema.type === 'number') return fc.double({ noNaN: true, noDefaultInfinity: true })
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'array')
    return fc.array(fromSchema(schema.items ?? {}, known), { maxLength: (schema.maxItems ?? 3) + 1 })
  if (schema.type === 'object') return recordOf(schema, known)
  if (name === 'model') return fc.constant(known.model)
  if (name === 'file_id') return fc.constantFrom(...known.pictures)
  return fc.string({
    unit: 'grapheme',
    minLength: schema.minLength ?? 0,
    maxLength: Math.min(schema.maxLength ?? 30, 30),
  })
}

function recordOf(schema: JsonSchema, known: Known): fc.Arbitrary<unknown> {
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, member]) => [name, fromSchema(member, known, name)] as const,
  )
  const requiredKeys = (schema.required ?? []) as never[]
  return fc.record(Object.fromEntries(members), { requiredKeys, noNullPrototype: true })
}

type Bend = { where: number; how: 'replace' | 'remove' | 'add' | 'double'; name: string; value: unknown }

/** The value with nothing, one or a few of its parts replaced, removed, added or doubled. */
function bent(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const name = fc.constantFrom('size', '__proto__', 'constructor', 'prompt', 'file_id', '', '\0', 'ÿ')
  const bend = fc.record({
    where: fc.nat(40),
    how: fc.constantFrom('replace', 'remove', 'add', 'double'),
    name,
    value: odd,
  })
  const bends = fc.oneof(fc.constant([]), fc.array(bend as fc.Arbitrary<Bend>, { minLength: 1, maxLength: 3 }))
  return fc.tuple(values, bends).map(([value, list]) => list.reduce(apply, value))
}

function apply(root: unknown, { where, how, name, value }: Bend): unknown {
  const places = countPlaces(root)
  let at = where % places
  const walk = (node: unknown): unknown => {
    const mine = at-- === 0
    if (mine && how === 'replace') return value
    if (Array.isArray(node)) {
      const items = node.map(walk)
      return mine && how === 'add'
        ? [...items, value]
        : mine && how === 'double'
          ? [...items, ...items]
          : mine
            ? items.slice(1)
            : items
    }
    if (typeof node !== 'object' || node === null) return mine ? value : node
    const entries = Object.entries(node).map(([key, member]): [string, unknown] => [key, walk(member)])
    if (mine && how === 'remove') entries.shift()
    if (mine && how === 'add') entries.push([name, value])
    return Object.fromEntries(entries)
  }
  return walk(root)
}

function countPlaces(node: unknown): number {
  if (typeof node !== 'object' || node === null) return 1
  return Object.values(node).reduce((count: number, member) => count + countPlaces(member), 1)
}

/** The fields of a value as a form, the way the official SDKs flatten it; a member called `file` becomes a file part. */
function form(value: unknown): string {
  const parts: string[] = []
  const put = (node: unknown, name: string): void => {
    if (Array.isArray(node)) for (const item of node) put(item, `${name}[]`)
    else if (typeof node === 'object' && node !== null) {
      for (const [key, member] of Object.entries(node)) put(member, name === '' ? key : `${name}[${key}]`)
    } else {
      const filename = name === 'file' ? '; filename="a.bin"' : ''
      parts.push(
        `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${filename}\r\n\r\n${String(node)}\r\n`,
      )
    }
  }
  if (typeof value === 'object') put(value, '')
  return `${parts.slice(0, 80).join('')}--${BOUNDARY}--\r\n`
}

function encoded(text: string): string {
  if (text.startsWith('%')) return text
  return encodeURIComponent(text.toWellFormed())
}

function nested(levels: number): unknown {
  let value: unknown = []
  for (let i = 1; i < levels; i++) value = [value]
  return value
}
