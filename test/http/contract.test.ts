import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { LEDGER_PAGE } from '../../server/billing/schema.ts'
import { BYTES_MAX } from '../../server/chat/parts/source.ts'
import { ChatBody, Metadata } from '../../server/chat/schema.ts'
import { DEFAULT_PLAN } from '../../server/config/complete.ts'
import { FILE_SECONDS_MAX, ListFiles } from '../../server/files/schema.ts'
import { FILE_BYTES_MAX } from '../../server/files/upload.ts'
import { ERRORS } from '../../server/platform/errors.ts'
import { JSON_BYTES_MAX, OPEN_BODY_BYTES_MAX } from '../../server/platform/http/body/parsers.ts'
import { CreateResponse } from '../../server/responses/schema/response.ts'
import { INPUT_PAGE } from '../../server/responses/schema/stored.ts'
import { RESPONSE_RETENTION_SECONDS } from '../../server/responses/sweeps.ts'
import { FAILURES, STATUSES } from '../../server/videos/job.ts'
import { VIDEO_PAGE } from '../../server/videos/list/route.ts'
import { JOB_RETENTION_SECONDS, RECORD_RETENTION_SECONDS } from '../../server/videos/retention.ts'
import { CreateVideo } from '../../server/videos/schema.ts'
import { startApp, type TestApp } from '../support/http/app.ts'
import { contractSections } from '../support/pages/contract-page.ts'
import { filesMatching, ROOT } from '../support/sources.ts'

const PLANNED = 'planned, not in this release'
const sections = contractSections()
const section = (number: string) => sections.get(number)!.lines.join('\n')

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('docs/contract.md names every route, and none that is not there but for those it calls planned', () => {
  const named = [...sections.values()].flatMap(({ heading, lines }) =>
    lines.flatMap((line) => {
      const planned = heading.includes(PLANNED) || line.includes(PLANNED)
      return routesIn(line).map((route) => ({ route, planned }))
    }),
  )
  const promised = new Set(named.filter(({ planned }) => !planned).map(({ route }) => route))
  const registered = new Set(app.app.routes.map(({ method, path }) => normal(method, path)))
  assert.deepEqual(
    [...registered].filter((route) => !promised.has(route)).sort(),
    [],
    'routes without a row, or with one that still calls them planned',
  )
  assert.deepEqual([...promised].filter((route) => !registered.has(route)).sort(), [], 'rows without a route')
})

test('the errors of docs/contract.md have the status and type of the code', () => {
  const rows = [...section('2.2').matchAll(/^\| (\d{3}) \| `(\w+)` \| (.+?) \|/gm)]
  const listed = rows.flatMap(([, status, type, codes]) =>
    [...codes!.matchAll(/`(\w+)`/g)].map(([, code]) => `${code} ${status} ${type}`),
  )
  const of400 = [...section('2.3').matchAll(/^\| `(\w+)` \|/gm)]
    .map(([, code]) => code)
    .filter((code) => code !== 'code')
  listed.push(...of400.map((code) => `${code} 400 invalid_request_error`))
  const known = new Set(Object.entries(ERRORS).map(([code, { status, type }]) => `${code} ${status} ${type}`))
  assert.ok(listed.length > 10)
  assert.deepEqual(
    listed.filter((error) => !known.has(error)),
    [],
  )
})

test('docs/contract.md names every status and failure of a job', () => {
  assert.deepEqual(
    STATUSES.filter((status) => !section('4.1').includes(`\`${status}\``)),
    [],
  )
  assert.deepEqual(
    Object.keys(FAILURES).filter((code) => !section('4.4').includes(`\`${code}\``)),
    [],
  )
})

const days = (seconds: number) => seconds / 86_400
/** Keywords of a schema as JSON has them, which its type leaves out. */
const keywords = <T extends object>(properties: T) => properties as unknown as Record<keyof T, Record<string, number>>
const video = keywords(CreateVideo.properties)
const chat = keywords(ChatBody.properties)
const response = keywords(CreateResponse.properties)
const files = keywords(ListFiles.properties)
const { maxProperties: pairs } = keywords({ Metadata }).Metadata

/** Sentences of the page, made from the constants of the code. */
const LIMITS: ReadonlyArray<readonly [section: string, text: string]> = [
  ['1.1', `JSON up to ${JSON_BYTES_MAX / 1024 ** 2} MiB`],
  ['1.1', `${OPEN_BODY_BYTES_MAX / 1024} KiB on routes that need no credential`],
  ['5', `\`limit\` (default ${VIDEO_PAGE.default}, max ${VIDEO_PAGE.max})`],
  ['5.1', `${video.seconds.minimum} to ${video.seconds.maximum}`],
  ['5.1', `1 to ${video.prompt.maxLength} characters`],
  ['7', `\`limit\` 1 to ${files.limit.maximum} (default ${files.limit.default})`],
  ['7', `(${FILE_BYTES_MAX.toLocaleString('en')} bytes)`],
  ['7', `3600 to ${FILE_SECONDS_MAX}`],
  ['10.2', `At most ${pairs} pairs`],
  ['11.2', `\`limit\` 1 to ${INPUT_PAGE.max} (default ${INPUT_PAGE.default})`],
  ['11.2', `kept ${days(RESPONSE_RETENTION_SECONDS)} days`],
  ['16', `| Video prompt | ${video.prompt.maxLength} characters |`],
  ['16', `| Video \`seconds\` | ${video.seconds.minimum} to ${video.seconds.maximum} |`],
  ['16', `| \`image_reference\` | 1 or ${video.image_reference.maxItems}, unique roles`],
  ['16', `| Upload | ${FILE_BYTES_MAX / 1e6} MB |`],
  ['16', `| Job list \`limit\` | default ${VIDEO_PAGE.default}, maximum ${VIDEO_PAGE.max} |`],
  ['16', `moderation record | ${days(JOB_RETENTION_SECONDS)} days each`],
  ['16', `moderation record | ${days(RECORD_RETENTION_SECONDS)} days each`],
  ['16', `| ${chat.n.minimum} to ${chat.n.maximum}; 4; ${chat.top_logprobs.minimum} to ${chat.top_logprobs.maximum};`],
  ['16', `\`temperature\` ${chat.temperature.minimum} to ${chat.temperature.maximum};`],
  ['16', `penalties ${chat.presence_penalty.minimum} to ${chat.presence_penalty.maximum} |`],
  ['16', `${pairs} pairs of 64/512 characters; ${chat.tools.maxItems}; ${days(RESPONSE_RETENTION_SECONDS)} days;`],
  ['16', `${response.tools.maxItems};`],
  [
    '16',
    `| ${JSON_BYTES_MAX / 1024 ** 2} MiB; ${files.limit.maximum}, ${INPUT_PAGE.max}, ${LEDGER_PAGE.max} an answer |`,
  ],
  [
    '16',
    `image ${BYTES_MAX.image / 1e6}, audio ${BYTES_MAX.audio / 1e6}, video ${BYTES_MAX.video / 1e6}, PDF ${BYTES_MAX.pdf / 1e6}, text ${BYTES_MAX.text / 1e6} MB each`,
  ],
  [
    '16',
    `by plan, default ${DEFAULT_PLAN.max_concurrent_renders}; by plan, default ${DEFAULT_PLAN.max_background_responses};`,
  ],
]

test('the limits of docs/contract.md are those of the code', () => {
  assert.deepEqual(
    LIMITS.filter(([number, text]) => !section(number).includes(text)),
    [],
  )
})

test('every route of /v1 is on a page of docs/api', () => {
  const pages = filesMatching(['docs/api/*.md'])
    .map(({ text }) => text)
    .join('\n')
  const routes = app.app.routes.map(({ path }) => path).filter((path) => path.startsWith('/v1/'))
  assert.ok(routes.length > 15)
  const missing = routes.filter((path) => !pages.includes(path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '')))
  assert.deepEqual([...new Set(missing)], [])
})

test('the page is found from the first pages of the repository', () => {
  for (const path of ['README.md', 'docs/api/README.md', 'ARCHITECTURE.md'])
    assert.match(readFileSync(join(ROOT, path), 'utf8'), /\]\((docs\/|\.\.\/)contract\.md\)/, path)
})

/** Routes that a line names: methods before paths in code, or both in one piece of code, or in a heading. */
function routesIn(line: string): string[] {
  const separate = [
    ...line.matchAll(
      /((?:GET|POST|PATCH|PUT|DELETE)(?:, (?:GET|POST|PATCH|PUT|DELETE))*) (?:\| )?(`\/[^`]+`(?:, `\/[^`]+`)*)/g,
    ),
  ]
  const together = [...line.matchAll(/(?:`|^#+ [\d.]+ )(GET|POST|PATCH|PUT|DELETE) (\/[^`\s]+)/g)]
  return [...separate, ...together]
    .filter(({ index }) => !/otherwise \| 405/.test(line.slice(index)))
    .flatMap(([, methods, paths]) =>
      methods!
        .split(', ')
        .flatMap((method) => paths!.split(', ').map((path) => normal(method, path.replaceAll('`', '')))),
    )
}

function normal(method: string, path: string): string {
  return `${method} ${path.replace(/\?.*/, '').replace(/:\w+|\{\w+\}|\*/g, '{}')}`
}
