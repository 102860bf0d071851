import type { Fault } from '../support/upstream/engine-server/faults.ts'

const json = { 'content-type': 'application/json' }

/** A reply with status 200 and this body. */
export const ok = (body: string | object): Fault => ({ kind: 'status', status: 200, body, headers: json })

/** Faults of the connection, of HTTP and of JSON, which every engine behind a server may meet. */
export const REPLY_FAULTS: Readonly<Record<string, Fault>> = {
  reset: { kind: 'reset' },
  'reset after the work was done': { kind: 'lost_reply' },
  'cut body': { kind: 'cut' },
  'a length that is too long': { kind: 'wrong_length' },
  'not HTTP': { kind: 'garbage' },
  'gzip bomb': { kind: 'gzip_bomb' },
  'giant line': { kind: 'giant_line' },
  stall: { kind: 'stall' },
  ...Object.fromEntries(
    [301, 400, 401, 403, 404, 408, 422, 429, 500, 502, 503].map((status) => [
      `status ${status}`,
      { kind: 'status', status } as Fault,
    ]),
  ),
  'empty body': ok(''),
  'bad JSON': ok('{"results":[{"flagged":false,'),
  HTML: { kind: 'status', status: 200, body: '<html>safe</html>', headers: { 'content-type': 'text/html' } },
  'the text safe': ok('safe'),
  'JSON null': ok('null'),
  'JSON true': ok('true'),
  'JSON array': ok([]),
  'JSON string': ok('"safe"'),
  'empty object': ok({}),
  'an error with status 200': ok({ error: { message: 'overloaded' } }),
}
