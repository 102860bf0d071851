import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { filesMatching, type Source, sourcesIn } from '../support/sources.ts'

const server = sourcesIn('server').filter(({ path }) => !path.endsWith('.test.ts'))

/** Files outside `platform/`, `store….ts` and `invariants.ts` that hold SQL, each with its reason. The list may shrink. */
const HOLD_SQL: Readonly<Record<string, string>> = {
  'server/audit/audit.ts': 'counts what the queries of the invariants find',
  'server/billing/audit-state.ts': 'its one table is its content',
  'server/identity/caller/rate-limit.ts': 'its one table is its content',
  'server/videos/cache.ts': 'asks for the versions of what it keeps',
  'server/videos/acceptance.ts': 'its one table is its content',
  'server/responses/background/claims.ts': 'claims of responses are its content',
  'server/videos/pipeline/claims.ts': 'claims of jobs are its content',
  'server/videos/create/idempotency.ts': 'its one table is its content',
  'server/videos/moderation/records.ts': 'its one table is its content',
  'server/videos/moderation/verdicts.ts': 'its one table is its content',
}

const QUERY = /\b(selectFrom|insertInto|updateTable|deleteFrom)\(|\bsql(<[^`]*>)?`/

test('SQL is in platform/, in stores, in invariants and in the files listed with a reason', () => {
  const holders = server.filter(({ text }) => QUERY.test(text)).map(({ path }) => path)
  const wrong = holders.filter(
    (path) => !/^server\/platform\/|\/(store(-[a-z-]+)?|invariants)\.ts$|\/store\//.test(path) && !(path in HOLD_SQL),
  )
  assert.deepEqual(wrong, [])
  const idle = Object.keys(HOLD_SQL).filter((path) => !holders.includes(path))
  assert.deepEqual(idle, [], 'listed, and without SQL')
})

test('a table is written by the one folder that declares it', () => {
  const owners = tableOwners(server)
  assert.ok(owners.size > 10)
  const wrong = server.flatMap((source) => {
    const folder = source.path.split('/')[1]!
    return writtenTables(source)
      .filter((table) => owners.has(table) && owners.get(table) !== folder)
      .map((table) => `${source.path} writes ${table}, which belongs to ${owners.get(table)}`)
  })
  assert.deepEqual(wrong, [])
})

/** Queries that read a table of another folder, each with its reason. The list may shrink. Invariants may read the tables of lower folders. */
const READS_ELSEWHERE: Readonly<Record<string, string>> = {
  'server/billing/store-reports.ts: api_keys': 'names the keys of a page of the ledger in its own query',
  'server/billing/store-reports.ts: users': 'names the people of a page of the ledger in its own query',
  'server/conversations/store.ts: ledger_entries': 'shows what each answer of a page cost in its own query',
  'server/conversations/store.ts: response_items': 'shows the questions and answers of a page in its own query',
  'server/conversations/store.ts: responses': 'a turn is a response, and adds to it only which conversation it is in',
  'server/responses/stored/store/responses.ts: conversation_turns':
    'a response in a conversation is kept as long as that: the sweep passes over it',
  'server/files/store/installation.ts: organizations':
    'a database without organizations is unused and may be paired with new files',
  'server/files/store/installation.ts: video_jobs':
    'asks whether any row needs a blob, before the rest of the service is opened',
}

test('SQL reads tables of its own folder only, but for the joins listed with a reason', () => {
  const owners = tableOwners(server)
  const found = server.flatMap((source) => {
    const folder = source.path.split('/')[1]!
    if (source.path.endsWith('/invariants.ts') || folder === 'platform') return []
    const foreign = readTables(source).filter((table) => owners.has(table) && owners.get(table) !== folder)
    return [...new Set(foreign)].map((table) => `${source.path}: ${table}`)
  })
  assert.deepEqual(
    found.filter((each) => !(each in READS_ELSEWHERE)),
    [],
  )
  const idle = Object.keys(READS_ELSEWHERE).filter((each) => !found.includes(each))
  assert.deepEqual(idle, [], 'listed, and not read')
})

/** Folders that have tables, lower ones first. */
const ORDER = [
  'nodes',
  'operations',
  'identity',
  'webhooks',
  'billing',
  'files',
  'videos',
  'responses',
  'reload',
  'conversations',
]

test('an invariant belongs to the highest folder whose tables it reads', () => {
  const owners = tableOwners(server)
  assert.deepEqual(
    [...new Set(owners.values())].sort(),
    [...ORDER].sort(),
    'folders with tables, and ORDER of this file',
  )
  const wrong = server
    .filter(({ path }) => path.endsWith('/invariants.ts'))
    .flatMap((source) => {
      const folder = source.path.split('/')[1]!
      return readTables(source)
        .filter((table) => owners.has(table) && ORDER.indexOf(owners.get(table)!) > ORDER.indexOf(folder))
        .map((table) => `${source.path} reads ${table}, which belongs to ${owners.get(table)}`)
    })
  assert.deepEqual(wrong, [])
})

test('every table of the migrations is declared by a folder, and every declared one is migrated', () => {
  const migrations = filesMatching(['server/migrations/*.sql'])
  const named = (pattern: RegExp) =>
    migrations.flatMap(({ text }) => [...text.matchAll(pattern)].map(([, name]) => name!))
  const dropped = new Set(named(/drop table (\w+)/gi))
  const made = named(/create (?:unlogged )?table (?:if not exists )?(\w+)/gi).filter((table) => !dropped.has(table))
  const declared = [...tableOwners(server).keys()]
  const library = new Set(['verifications', 'two_factors'])
  const platform = new Set(['sweeps', 'workers'])
  assert.deepEqual(declared.filter((table) => !made.includes(table)).sort(), [])
  assert.deepEqual(
    made.filter((table) => !declared.includes(table) && !library.has(table) && !platform.has(table)).sort(),
    [],
  )
})

/** Most files of one folder, tests left out. */
const FILES_MAX = 15

test(`a folder has at most ${FILES_MAX} files beside its tests`, () => {
  const sources = sourcesIn('server', 'console', 'dev', 'bench', 'test').filter(
    ({ path }) => !path.endsWith('.test.ts'),
  )
  const folders = Map.groupBy(sources, ({ path }) => dirname(path))
  assert.deepEqual(
    [...folders].filter(([, files]) => files.length > FILES_MAX).map(([folder]) => folder),
    [],
  )
})

test('only errors are classes', () => {
  const wrong = sourcesIn('server', 'console', 'dev', 'bench', 'test').flatMap(({ path, lines }) =>
    lines.flatMap((line, index) =>
      /^\s*(export )?(default )?(abstract )?class (?!\w+ extends \w*Error\b)/.test(line)
        ? [`${path}:${index + 1}`]
        : [],
    ),
  )
  assert.deepEqual(wrong, [])
})

/** Tables by the folder whose `interface Database` has them. */
function tableOwners(sources: Source[]): Map<string, string> {
  const owners = new Map<string, string>()
  for (const { path, text } of sources) {
    if (path.startsWith('server/platform/')) continue
    for (const [, body] of text.matchAll(/interface Database \{([^}]*)\}/g)) {
      for (const [, table] of body!.matchAll(/^\s*(\w+):/gm)) owners.set(table!, path.split('/')[1]!)
    }
  }
  return owners
}

function readTables({ text }: Source): string[] {
  const built = [...text.matchAll(/\b(?:selectFrom|(?:inner|left|right|full|cross)Join|using)\('(\w+)/g)].map(
    ([, table]) => table!,
  )
  const templates = [...text.matchAll(/\bsql(?:<[^`]*?>)?`((?:[^`\\]|\\.)*)`/g)].map(([, query]) => query!).join('\n')
  const read = [...templates.matchAll(/\b(?:from|join) (\w+)/g)].map(([, table]) => table!)
  return [...built, ...read]
}

function writtenTables({ text }: Source): string[] {
  const built = [...text.matchAll(/\b(?:insertInto|updateTable|deleteFrom)\('(\w+)/g)].map(([, table]) => table!)
  const written = [...text.matchAll(/\b(?:insert into|delete from|update) (\w+)(?= set\b|\s|\()/g)].map(
    ([, table]) => table!,
  )
  return [...built, ...written]
}
