import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readReleased } from '../support/released/schema.ts'
import { filesMatching } from '../support/sources.ts'

/**
 * The rules of CONTRIBUTING.md, Migrations: the version before serves while a migration runs and after it. Migrations that were released are
 * not judged any more.
 */
const { migration: released } = readReleased()
const migrations = filesMatching(['server/migrations/*.sql'])
  .map(({ path, text }) => ({ name: path.replace(/^.*\/|\.sql$/g, ''), text }))
  .filter(({ name }) => Number(name.slice(0, 4)) > released)

/** Tables with a row for each person, organization or node at most: an index is made, and every row changed, within milliseconds. */
const SMALL = new Set([
  'organizations',
  'users',
  'members',
  'accounts',
  'invitations',
  'api_keys',
  'installation',
  'audit_state',
])

/** Statements that break a rule, each with the reason why the version before and its requests are not hurt. Emptied at a release. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  '0043-node-places: alter table reload_answers add primary key (reload_id, node_id, host, pid) — reads the table while nobody can write it: not valid, and validate it in a later migration':
    'the answers of the last twenty reloads: it is read within a millisecond',
}

test('migrations let the version before go on serving, but for the exceptions listed with a reason', () => {
  const found = migrations.flatMap(({ name, text }) => mistakesIn(text).map((mistake) => `${name}: ${mistake}`))
  const wrong = found.filter((each) => !(each in EXCEPTIONS))
  assert.equal(wrong.length, 0, `\n  ${wrong.join('\n  ')}\n`)
  assert.deepEqual(
    Object.keys(EXCEPTIONS).filter((each) => !found.includes(each)),
    [],
    'listed, and not there',
  )
})

test('the check finds what hurts the version before or its requests', () => {
  const bad = [
    'drop table files;',
    'alter table files drop column purpose;',
    'alter table files drop purpose;',
    'alter table files rename column purpose to reason;',
    'alter table files rename to uploads;',
    'alter table files alter column size_bytes type bigint;',
    'alter table files alter purpose set not null;',
    'alter table files add column why text not null;',
    'alter table files add column a text, add column b text not null;',
    'alter table files add column key uuid default gen_random_uuid();',
    'alter table files add column two text generated always as (purpose) stored;',
    'alter table files add column number bigserial;',
    'alter table files add constraint big check (size_bytes < 9);',
    'alter table files add column b text, add constraint big check (size_bytes < 9);',
    'create index files_big on files (size_bytes);',
    'create unique index files_big on only files (size_bytes);',
    'create index concurrently files_big on files (size_bytes);',
    '-- no transaction\ncreate index concurrently files_big on files (size_bytes);',
    '-- no transaction\nalter table files add column a text;',
    "update files set purpose = 'x';",
    'delete from files;',
    'do $$ begin update files set purpose = null; end $$;',
    'truncate files;',
    'lock table files in exclusive mode;',
    'reindex table files;',
    'drop function f();',
    'set lock_timeout = 0;',
  ]
  assert.deepEqual(
    bad.filter((text) => mistakesIn(text).length === 0),
    [],
  )
  const good = [
    'create table notes (id text primary key, text text not null); create index on notes (text); insert into notes select id, id from files;',
    "-- drop table files;\nalter table files add column why text, add column how text not null default 'x';",
    'alter table files add column at timestamptz not null default now();',
    'alter table files add constraint big check (size_bytes < 9) not valid;',
    'alter table files validate constraint big;',
    'create index keys_of on api_keys (created_at);',
    '-- no transaction\n-- Lists by size.\ndrop index concurrently if exists files_big;\ncreate index concurrently files_big on files (size_bytes);',
    'create function f() returns trigger language plpgsql as $$ begin update files set purpose = null; return new; end $$;',
    'create trigger t after insert on files for each row execute function f();',
    'drop index files_by_org;',
    "comment on table files is 'drop table files';",
  ]
  assert.deepEqual(good.flatMap(mistakesIn), [])
})

type Rule = readonly [pattern: RegExp, remedy: string]

/** What a statement may never be. */
const NEVER: readonly Rule[] = [
  [
    /^drop (table|view|function|trigger|type|sequence|schema)\b/,
    'the version before uses it: drop it in the release after the next',
  ],
  [/^alter table .*\brename\b/, 'the version before knows the old name: add the new one beside it'],
  [
    /^alter table .*\bdrop (column|(?!constraint|default|not null|identity|expression)\w)/,
    'the version before uses it: drop it in the release after the next',
  ],
  [
    /^alter table .*\balter (column )?\w+ (set data )?type\b/,
    'rewrites the table while nobody can read it: add another column',
  ],
  [
    /^alter table .*\bset not null\b/,
    'reads the table while nobody can write it: add a check that is not valid, and validate it in a later migration',
  ],
  [/^(truncate|lock|cluster|vacuum|reindex)\b/, 'keeps everybody out'],
  [/^set\b/, 'changes the session of the migrations: lock_timeout is what lets requests go on'],
]

/** What one `add` of an `alter table` may not be. */
const ADDED: readonly Rule[] = [
  [
    /^add (?!constraint)(?=.*\bnot null\b)(?!.*\bdefault\b)/,
    'the version before writes no value there: give it a default',
  ],
  [
    /^add .*\bdefault (?!now\(\)|current_timestamp)[^,]*\w\(/,
    'a default that differs from row to row rewrites the table: a constant, or null',
  ],
  [
    /^add .*\b(generated\b.*\bstored|generated .* as identity|(small|big)?serial)\b/,
    'rewrites the table: fill a plain column',
  ],
  [
    /^add (constraint|check|foreign|unique|primary|exclude)\b(?!.*\b(not valid|using index)$)/,
    'reads the table while nobody can write it: not valid, and validate it in a later migration',
  ],
]

function mistakesIn(text: string): string[] {
  const alone = /^-- no transaction\b/.test(text)
  const statements = statementsOf(text)
  const made = new Set(
    statements.flatMap((each) => /^create (?:unlogged )?table (?:if not exists )?(\w+)/.exec(each)?.[1] ?? []),
  )
  const dropped = statements.flatMap((each) => /^drop index concurrently if exists (\w+)/.exec(each)?.[1] ?? [])
  return statements.flatMap((statement) => {
    const rules = alone ? mistakeAlone(statement, dropped) : mistakeOf(statement, made)
    return rules.map((remedy) => `${statement.slice(0, 90)} — ${remedy}`)
  })
}

/** Without a transaction a statement may have happened already. */
function mistakeAlone(statement: string, dropped: readonly string[]): string[] {
  if (/^drop index concurrently if exists \w+$/.test(statement)) return []
  const name = /^create (?:unique )?index concurrently (\w+) on /.exec(statement)?.[1]
  if (name && dropped.includes(name)) return []
  return [
    "without a transaction there is only 'drop index concurrently if exists x', then 'create index concurrently x on …'",
  ]
}

function mistakeOf(statement: string, made: ReadonlySet<string>): string[] {
  const never = NEVER.filter(([pattern]) => pattern.test(statement)).map(([, remedy]) => remedy)
  const altered = /^alter table (?:if exists )?(?:only )?(\w+) (.*)$/.exec(statement)
  const added =
    altered && !made.has(altered[1]!)
      ? partsOf(altered[2]!).flatMap((part) => ADDED.filter(([pattern]) => pattern.test(part)))
      : []
  const indexed = /^create (?:unique )?index (concurrently )?.*?\bon (?:only )?(\w+)/.exec(statement)
  const large = (table: string) => !made.has(table) && !SMALL.has(table)
  const slow =
    indexed && (indexed[1] || large(indexed[2]!))
      ? [
          "keeps writers out while it reads the table: 'create index concurrently' in a file that begins with '-- no transaction'",
        ]
      : []
  const changed = /^(?:do \$\$.*\b)?(?:update|delete from) (?:only )?(\w+)/.exec(statement)
  const rows =
    changed && large(changed[1]!) ? ['changes many rows in one transaction: let the service do it in batches'] : []
  return [...never, ...added.map(([, remedy]) => remedy), ...slow, ...rows]
}

/** The actions of an `alter table`: split at commas that are in no parentheses. */
function partsOf(actions: string): string[] {
  let depth = 0
  const cut = [...actions].map((each) => {
    if (each === '(') depth += 1
    if (each === ')') depth -= 1
    return each === ',' && depth === 0 ? '\0' : each
  })
  return cut
    .join('')
    .split('\0')
    .map((part) => part.trim())
}

/** Lower case, on one line, without comments and strings; the body of a function is one part of its statement. */
function statementsOf(text: string): string[] {
  const bodies: string[] = []
  const plain = text
    .replaceAll(/--[^\n]*/g, '')
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, (body) => `\u0001${bodies.push(body) - 1}\u0002`)
  return plain
    .split(';')
    .map((each) => each.replaceAll(/\u0001(\d+)\u0002/g, (_, index) => bodies[Number(index)]!))
    .map((each) => each.replaceAll(/\s+/g, ' ').trim().toLowerCase())
    .filter((each) => each !== '')
}
