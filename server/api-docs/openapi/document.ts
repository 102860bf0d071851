import type { TSchema } from 'typebox'
import type { Route } from '../../identity/caller/route.ts'
import { errorResponseOf, errorResponses, errorSchema, errorStatuses } from './errors.ts'
import { generatorForms } from './generator-forms.ts'
import { answerHeaders, isBytes } from './headers.ts'
import { formContent, withNulls } from './request-bodies.ts'
import { nameSchemas } from './schema-names.ts'

type Json = Record<string, unknown>

/** The parts of the API, in the order of the page. The first segment after `/v1`, or `console`, names the part. */
const TAGS: ReadonlyArray<{ name: string; description: string }> = [
  { name: 'videos', description: 'Asynchronous video jobs: submit, poll, download.' },
  { name: 'files', description: 'Images, videos, audio and documents that jobs and messages refer to.' },
  { name: 'chat', description: 'Chat completions.' },
  { name: 'responses', description: 'Responses.' },
  { name: 'models', description: 'Chat models of your plan.' },
  { name: 'webhook_endpoints', description: 'Where events are delivered.' },
  { name: 'webhook_event_types', description: 'What can be delivered.' },
  { name: 'console', description: 'Signing in, API keys, people, balance and usage. Called with a console login.' },
]

/** OpenAPI 3.1 from the very schemas that validate: https://spec.openapis.org/oas/v3.1.1 */
export function describeApi(routes: readonly Route[]): Json {
  const shown = routes.filter(({ internal }) => !internal)
  const paths: Record<string, Json> = {}
  for (const spec of shown) {
    const path = openApiPath(spec)
    paths[path] ??= {}
    paths[path][spec.method.toLowerCase()] = describeOperation(spec)
  }
  const named = nameSchemas(paths)
  const used = new Set(shown.map(tagOf))
  return {
    openapi: '3.1.1',
    info: {
      title: 'Kinora',
      version: '1',
      summary: 'Video jobs, chat and files behind one API.',
      description: 'Errors share one envelope; lists share one form. Unknown members of an answer are to be ignored.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that sent this document.' }],
    tags: [
      ...TAGS.filter(({ name }) => used.has(name)),
      ...[...used].filter((name) => !isKnownTag(name)).map((name) => ({ name })),
    ],
    security: [],
    paths: named.value,
    components: {
      securitySchemes: {
        api_key: { type: 'http', scheme: 'bearer', description: 'An API key of a person in an organization.' },
        console_session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'kinora.session_token',
          description:
            'A console login; over https the name begins with `__Secure-`. Calls that change something must come from the same origin.',
        },
      },
      responses: errorResponses(),
      schemas: { Error: errorSchema(), ...named.schemas },
    },
  }
}

/** The example of each call that has one, by `operationId`. */
export function examplesOf(routes: readonly Route[]): ReadonlyMap<string, unknown> {
  const shown = routes.filter(({ example }) => example !== undefined)
  return new Map(shown.map((spec) => [operationId(spec), spec.example]))
}

/** `/v1/videos/:video_id` as `/v1/videos/{video_id}`, and `*`, an id that may hold slashes, as `{id}`. */
export function openApiPath({ path }: Pick<Route, 'path'>): string {
  return path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{id}')
}

function describeOperation(spec: Route): Json {
  return {
    tags: [tagOf(spec)],
    operationId: operationId(spec),
    summary: spec.summary,
    description: spec.description,
    security: securityOf(spec),
    ...parametersOf(spec),
    ...requestBodyOf(spec),
    responses: {
      ...successesOf(spec),
      ...Object.fromEntries(errorStatuses(spec).map((status) => [status, errorResponseOf(spec, status)])),
    },
  }
}

/** The statuses of success, and 304, which is no error. */
function successesOf(spec: Route): Json {
  const answer = (status: 101 | 200 | 206 | 302 | 304, response: { description: string; content?: Json }) => {
    const { description, content } = response
    return { [status]: { description, headers: answerHeaders(spec, status), ...(content && { content }) } }
  }
  if (spec.upgrade) return answer(101, { description: 'The connection is a WebSocket from here on.' })
  if (spec.redirects) return answer(302, { description: 'The browser goes on.' })
  return {
    ...answer(200, successOf(spec)),
    ...(isBytes(spec) && answer(206, { description: 'One range of the bytes.', content: bytesOf(spec) })),
    ...((isBytes(spec) || spec.conditional) &&
      answer(304, { description: 'What `If-None-Match` names is still current.' })),
  }
}

function tagOf({ path }: Route): string {
  const [first, second] = path.split('/').filter((part) => part !== '')
  return (first === 'v1' ? second : first) ?? 'service'
}

function isKnownTag(name: string): boolean {
  return TAGS.some((tag) => tag.name === name)
}

/** `GET /v1/videos/:video_id/content` is `getVideosByVideoIdContent`. */
function operationId(spec: Route): string {
  const words = openApiPath(spec)
    .replace(/^\/v1/, '')
    .replace(/\{(\w+)\}/g, 'by_$1')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
  return spec.method.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
}

function securityOf({ auth }: Route): Json[] {
  if (auth === 'none' || auth === 'signed_url') return []
  return [...(auth === 'session' ? [] : [{ api_key: [] }]), ...(auth === 'api_key' ? [] : [{ console_session: [] }])]
}

function parametersOf(spec: Route): { parameters?: Json[] } {
  const inPath = [...openApiPath(spec).matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const query = (spec.query ?? {}) as {
    properties?: Record<string, TSchema & { description?: string }>
    required?: string[]
  }
  const inQuery = Object.entries(query.properties ?? {}).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: query.required?.includes(name) ?? false,
    ...(description !== undefined && { description }),
    schema: plain(schema),
  }))
  const parameters = [...inPath, ...inQuery, ...headersOf(spec)]
  return parameters.length > 0 ? { parameters } : {}
}

/** Headers that an answer depends on. `Authorization` is in the security schemes. */
function headersOf(spec: Route): Json[] {
  const header = (name: string, description: string, schema: Json = { type: 'string' }) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema,
  })
  if (spec.idempotent) {
    const text =
      'The same key with the same body gives the same job for 24 hours: send one, so that a lost answer costs nothing twice.'
    return [header('Idempotency-Key', text, { type: 'string', minLength: 1, maxLength: 255 })]
  }
  const known = header('If-None-Match', 'The `ETag` you have.')
  if (!isBytes(spec)) return spec.conditional ? [known] : []
  return [
    header('Range', 'One range, such as `bytes=0-1023`.'),
    header('If-Range', 'The `ETag` the range belongs to.'),
    known,
  ]
}

function requestBodyOf(spec: Route): { requestBody?: Json } {
  const { body, form: about, accepts = ['json'] } = spec
  if (!body) return {}
  const json = accepts.includes('json')
  // A second shape is not compiled: openapi-generator imports it and does not write it, openapi-python-client sends a shared one twice.
  const form = json
    ? { schema: { type: 'object', description: about } }
    : formContent(named(plain(body), `${titleOf(spec)}Form`))
  const content = {
    ...(json && { 'application/json': { schema: named(withNulls(plain(body)), `${titleOf(spec)}Body`) } }),
    ...(accepts.includes('multipart') && { 'multipart/form-data': form }),
  }
  return { requestBody: { required: true, content } }
}

function successOf(spec: Route): { description: string; content?: Json } {
  if (isBytes(spec)) return { description: 'The bytes.', content: bytesOf(spec) }
  if (spec.response_type) {
    return { description: 'Text.', content: { [spec.response_type]: { schema: { type: 'string' } } } }
  }
  const json = spec.response && {
    'application/json': { schema: named(plain(spec.response), `${titleOf(spec)}Result`) },
  }
  const stream = spec.events && { 'text/event-stream': { schema: named(plain(spec.events), `${titleOf(spec)}Event`) } }
  const description = stream ? STREAM_TEXT : 'Done.'
  return json || stream ? { description, content: { ...json, ...stream } } : { description }
}

/** With this name unless it has one: generators number what has none, and some of them twice. */
function named(schema: Json, name: string): Json {
  const { object } = (schema.properties ?? {}) as Record<string, Json>
  return schema.title !== undefined || object?.const !== undefined ? schema : { title: name, ...schema }
}

/** `getVideos` as the beginning of the names of its shapes: `GetVideos`. */
function titleOf(spec: Route): string {
  const id = operationId(spec)
  return id[0]!.toUpperCase() + id.slice(1)
}

/** OpenAPI 3.1 has no word for the events of a stream: as is usual, the schema of `text/event-stream` is that of one event's data. */
const STREAM_TEXT =
  'The answer, or with `stream: true` its events: the `data` of each has this schema, but for the last, which is `[DONE]`.'

/** OpenAPI 3.1 needs no schema for bytes; generators know them by the `format` of 3.0, which means nothing to 3.1. */
function bytesOf({ response_type, other_response_types = [] }: Route): Json {
  return Object.fromEntries(
    [response_type!, ...other_response_types].map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
  )
}

/** The schema as plain JSON, in the forms that generators compile, without what the validator keeps beside it. */
function plain(schema: object): Json {
  return generatorForms(JSON.parse(JSON.stringify(schema))) as Json
}
