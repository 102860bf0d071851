import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { openApiPath } from '../../../server/api-docs/openapi/document.ts'
import { newId } from '../../../server/platform/ids.ts'
import { RATIO_BY_SIZE } from '../../../server/videos/create/openai-fields.ts'
import { samplePicture } from '../../support/data/media.ts'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../../support/http/app.ts'
import { type ApiDocument, checkDocument, closed, generatorProblems, operationsOf, resolveRefs } from './rules.ts'

let app: TestApp
let person: TestPerson
let document: ApiDocument
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
  document = (await (await fetch(`${app.url}/openapi.json`)).json()) as ApiDocument
})
after(() => app.close())

test('the document keeps the rules of OpenAPI 3.1', () => {
  assert.match(document.openapi, /^3\.1\.\d+$/)
  assert.deepEqual(checkDocument(document), [])
})

test('the document has what generated clients need, and nothing that they do not compile', () => {
  assert.deepEqual(generatorProblems(document), [])
})

test('every public route of the service is in the document with its credential, and nothing else is', async () => {
  const shown = operationsOf(document).map(
    ({ method, path, operation }) => [`${method} ${path}`, operation.security] as const,
  )
  const served = await publicRoutes(app, person.cookie)
  assert.ok(served.length > 30)
  assert.deepEqual(shown.map(([name]) => name).sort(), served.sort())
  const credential = new Map(shown)
  assert.deepEqual(credential.get('POST /v1/videos'), [{ api_key: [] }, { console_session: [] }])
  assert.deepEqual(credential.get('POST /v1/videos/acceptance'), [{ console_session: [] }])
  assert.deepEqual(credential.get('POST /console/auth/sign-in/email'), [])
})

test('real answers have the shape the document gives them', async () => {
  const headers = { authorization: `Bearer ${person.key}` }
  const form = new FormData()
  form.set('purpose', 'vision')
  form.set('file', new Blob([await samplePicture('png')]), 'a.png')
  const file = await answerOf('POST /v1/files', '/v1/files', { method: 'POST', headers, body: form })
  await answerOf('GET /v1/files/{file_id}', `/v1/files/${file.id}`, { headers })
  const body = JSON.stringify(videoBody())
  const create = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body }
  const job = await answerOf('POST /v1/videos', '/v1/videos', create)
  await app.tick()
  const done = await answerOf('GET /v1/videos/{video_id}', `/v1/videos/${job.id}`, { headers })
  assert.equal(done.status, 'completed')
  await answerOf('GET /v1/videos', '/v1/videos', { headers })
  await answerOf('GET /v1/videos/models', '/v1/videos/models', { headers })
  await answerOf('GET /v1/videos/acceptance', '/v1/videos/acceptance', { headers })
  const browser = { headers: { cookie: person.cookie } }
  const own = ['session', 'profile', 'sessions', 'two_factor', 'site', 'api_keys']
  for (const path of [...own, 'balance', 'ledger', 'usage', 'members', 'invitations']) {
    await answerOf(`GET /console/${path}`, `/console/${path}`, browser)
  }
})

test('null may replace any optional member of a request, in the document as in the service', async () => {
  const { requestBody } = document.paths['/v1/videos']!.post!
  const { schema } = requestBody!.content['application/json'] as { schema: TSchema }
  const shape = Compile(resolveRefs(document, schema) as TSchema)
  const send = async (body: object) => {
    const headers = { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' }
    return (await fetch(`${app.url}/v1/videos`, { method: 'POST', headers, body: JSON.stringify(body) })).status
  }
  const cases: ReadonlyArray<[changes: Record<string, unknown>, status: number]> = [
    [{ image_reference: null, references: null }, 200],
    [{ seconds: null }, 400],
    [{ image_reference: [{ file_id: null, role: 'first_frame' }] }, 400],
  ]
  for (const [changes, status] of cases) {
    const body = videoBody(changes)
    assert.equal(await send(body), status, JSON.stringify(changes))
    assert.equal(shape.Check(body), status === 200, JSON.stringify(changes))
  }
})

test('the form of a video job names the members of OpenAI, with their values', () => {
  const { schema } = document.paths['/v1/videos']!.post!.requestBody!.content['multipart/form-data'] as {
    schema: { description: string }
  }
  for (const name of ['size', 'input_reference', ...Object.keys(RATIO_BY_SIZE)])
    assert.ok(schema.description.includes(`\`${name}\``), name)
})

test('real errors have the envelope the document gives, under a status it names', async () => {
  const headers = { authorization: `Bearer ${person.key}` }
  const calls = [
    ['GET /v1/videos', '/v1/videos?limit=0', { headers }, 400],
    ['GET /v1/videos', '/v1/videos', {}, 401],
    ['POST /v1/videos/acceptance', '/v1/videos/acceptance', { method: 'POST', headers }, 403],
    ['GET /v1/videos/{video_id}', '/v1/videos/video_none', { headers }, 404],
    [
      'POST /v1/videos',
      '/v1/videos',
      { method: 'POST', headers: { ...headers, 'content-type': 'text/plain' }, body: 'x' },
      415,
    ],
    ['GET /v1/videos/{video_id}/content', '/v1/videos/video_none/content', { headers }, 404],
  ] as const
  for (const [name, path, init, status] of calls) {
    const response = await fetch(app.url + path, init)
    assert.equal(response.status, status, name)
    requireShape(name, String(status), await response.json())
  }
})

test('the page names every operation and object, loads nothing from elsewhere, and runs one script of the service', async () => {
  const page = await fetch(`${app.url}/docs`)
  const html = await page.text()
  assert.match(page.headers.get('content-type')!, /^text\/html/)
  const policy = page.headers.get('content-security-policy')!
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /script-src 'self';/)
  assert.ok(!/unsafe|https?:/.test(policy), policy)
  // A URL in the example of a body is text.
  assert.ok(
    !/<script(?! src="\/docs\/choices\.js"><\/script>)|<style|style="|https?:\/\/(?!example\.com\/webhooks)/i.test(
      html,
    ),
  )
  for (const { operation } of operationsOf(document))
    assert.ok(html.includes(`<details id="${operation.operationId}">`))
  for (const name of Object.keys(document.components.schemas)) assert.ok(html.includes(`id="schema-${name}"`), name)
  const targets = [...html.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id!)
  assert.deepEqual(
    targets.filter((id) => !html.includes(`id="${id}"`)),
    [],
  )
  const style = await fetch(new URL('/docs/style.css', app.url))
  assert.match(style.headers.get('content-type')!, /^text\/css/)
  assert.ok(!/url\(|@import/.test(await style.text()))
})

async function answerOf(name: string, path: string, init: RequestInit): Promise<{ id: string; status?: string }> {
  const response = await fetch(app.url + path, init)
  const body = (await response.json()) as { id: string }
  assert.equal(response.status, 200, `${name}: ${JSON.stringify(body)}`)
  requireShape(name, '200', body)
  return body
}

function requireShape(name: string, status: string, body: unknown): void {
  const [method, path] = name.split(' ') as [string, string]
  const answer = resolveRefs(document, document.paths[path]![method.toLowerCase()]!.responses[status]) as {
    content: { 'application/json': { schema: TSchema } }
  }
  assert.ok(answer, `${name} does not name ${status}`)
  const shape = Compile(closed(answer.content['application/json'].schema) as TSchema)
  assert.ok(shape.Check(body), `${name} ${status}: ${JSON.stringify(shape.Errors(body))} ${JSON.stringify(body)}`)
}

/** The routes the server reports: each path, with the methods it allows. */
async function publicRoutes({ app, url }: TestApp, cookie: string): Promise<string[]> {
  const found: string[] = []
  for (const path of pathsIn(app.http.printRoutes({ commonPrefix: false }))) {
    if (!/^\/(v1|console)\//.test(path) || path.includes('/signed')) continue
    const asked = path.replace('/:video_id', `/${newId('video')}`).replace(/:\w+|\*/g, 'any')
    const answer = await fetch(url + asked, { method: 'OPTIONS', headers: { cookie } })
    assert.equal(answer.status, 405, path)
    const methods = answer.headers.get('allow')!.split(', ')
    for (const method of methods) if (method !== 'HEAD') found.push(`${method} ${openApiPath({ path })}`)
  }
  return found
}

/** Full paths of Fastify's tree: four columns a level. */
function pathsIn(tree: string): string[] {
  const parents: string[] = []
  return tree.split('\n').flatMap((line) => {
    const [, indent, part] = /^([│ ]*)[├└]── (\S+) \(/.exec(line) ?? []
    if (indent === undefined || part === undefined) return []
    parents.length = indent.length / 4
    const path = (parents.at(-1) ?? '') + (part === '*' ? '/*' : part)
    parents.push(path)
    return [path]
  })
}
