import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filesMatching, type Source, sourcesIn } from '../support/sources.ts'

const server = sourcesIn('server').filter(({ path }) => !path.endsWith('.test.ts'))

/** Files outside `platform/` and `store….ts` that hold SQL, each with its reason. The list may shrink. */
const HOLD_SQL: Readonly<Record<string, string>> = {
  'server/audit/audit.ts': 'reads every table to check the invariants',
  'server/audit/responses.ts': 'the same for stored responses',
  'server/billing/audit-state.ts': 'its one table is its content',
  'server/health.ts': 'asks whether the database answers',
  'server/identity/caller/rate-limit.ts': 'its one table is its content',
  'server/videos/acceptance.ts': 'its one table is its content',
  'server/responses/background/claims.ts': 'claims of responses are its content',
  'server/videos/pipeline/claims.ts': 'claims of jobs are its content',
  'server/videos/create/idempotency.ts': 'its one table is its content',
  'server/videos/moderation/records.ts': 'its one table is its content',
  'server/videos/moderation/verdicts.ts': 'its one table is its content',
}

const QUERY = /\b(selectFrom|insertInto|updateTable|deleteFrom)\(|\bsql(<[^`]*>)?`/

test('SQL stands in platform/, in stores and in the files listed with a reason', () => {
  const holders = server.filter(({ text }) => QUERY.test(text)).map(({ path }) => path)
  const wrong = holders.filter(
    (path) => !/^server\/platform\/|\/store(-[a-z-]+)?\.ts$/.test(path) && !(path in HOLD_SQL),
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

test('every table of the migrations is declared by a folder, and every declared one is migrated', () => {
  const migrations = filesMatching(['server/migrations/*.sql'])
  const made = migrations.flatMap(({ text }) =>
    [...text.matchAll(/create (?:unlogged )?table (?:if not exists )?(\w+)/gi)].map(([, name]) => name!),
  )
  const declared = [...tableOwners(server).keys()]
  const library = new Set(['verifications', 'two_factors'])
  assert.deepEqual(declared.filter((table) => !made.includes(table)).sort(), [])
  assert.deepEqual(made.filter((table) => !declared.includes(table) && !library.has(table)).sort(), [])
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

function writtenTables({ text }: Source): string[] {
  const built = [...text.matchAll(/\b(?:insertInto|updateTable|deleteFrom)\('(\w+)/g)].map(([, table]) => table!)
  const written = [...text.matchAll(/\b(?:insert into|delete from|update) (\w+)(?= set\b|\s|\()/g)].map(
    ([, table]) => table!,
  )
  return [...built, ...written]
}
