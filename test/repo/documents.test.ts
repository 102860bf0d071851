import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import { ConfigFile } from '../../server/config/file.ts'
import { ERRORS } from '../../server/platform/errors.ts'
import { FAILURES, STATUSES, TRANSITIONS } from '../../server/videos/job.ts'
import { contractSections } from '../support/pages/contract-page.ts'
import { filesMatching, ROOT, sourcesIn } from '../support/sources.ts'

const documents = filesMatching(['*.md', 'docs/**/*.md', 'bench/**/*.md', 'console/**/*.md', 'deploy/**/*.md'])

test('every link of a document leads to a file, and to a heading where it names one', () => {
  const wrong = documents.flatMap(({ path, text }) =>
    linksOf(text).flatMap((link) => {
      const [file, anchor] = link.split('#') as [string, string?]
      const target = file === '' ? path : join(dirname(path), file)
      if (!existsSync(join(ROOT, target))) return [`${path}: ${link}`]
      return anchor && !anchorsOf(target).includes(anchor) ? [`${path}: ${link}: no such heading`] : []
    }),
  )
  assert.deepEqual(wrong, [])
})

test('docs/states.md draws exactly the transitions that are allowed, and explains every status and failure', () => {
  const text = read('docs/states.md')
  const drawn = [...text.matchAll(/^ {2}(\w+) --> (\w+)$/gm)].map(([, from, to]) => `${from} > ${to}`)
  const allowed = STATUSES.flatMap((from) => TRANSITIONS[from].map((to) => `${from} > ${to}`))
  assert.deepEqual(drawn.sort(), allowed.sort())
  const ends = [...text.matchAll(/^ {2}(\w+) --> \[\*\]$/gm)].map(([, status]) => status!)
  assert.deepEqual(ends.sort(), STATUSES.filter((status) => TRANSITIONS[status].length === 0).sort())
  const [states, failures] = text.split('## Why a job failed')
  assert.deepEqual(firstColumn(states!), [...STATUSES])
  assert.deepEqual(firstColumn(failures!).sort(), Object.keys(FAILURES).sort())
})

test('docs/errors.md and the table of errors are the same', () => {
  const rows = read('docs/errors.md').matchAll(/^\| (\d{3}) \| `(\w+)` \| `(\w+)` \| (.+) \|$/gm)
  const documented = [...rows].map(([, status, type, code, meaning]) => {
    const { should_retry } = (ERRORS as Record<string, { should_retry?: boolean }>)[code!] ?? {}
    const retry = /`x-should-retry: (true|false)`/.exec(meaning!)?.[1]
    assert.equal(retry, should_retry === undefined ? undefined : String(should_retry), `x-should-retry of ${code}`)
    return `${status} ${type} ${code}`
  })
  const known = Object.entries(ERRORS).map(([code, { status, type }]) => `${status} ${type} ${code}`)
  assert.deepEqual(documented.sort(), known.sort())
})

test('docs/configuration.md explains every setting of the file and every environment variable', () => {
  const text = read('docs/configuration.md')
  const documented = new Set([...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!))
  const settings = namesIn(ConfigFile)
  assert.ok(settings.length > 40)
  assert.deepEqual(
    settings.filter((name) => !documented.has(name)),
    [],
  )
  const asked = sourcesIn('server').flatMap(({ text }) =>
    [...text.matchAll(/\benv\.((?:KINORA|FFMPEG|DATABASE)_\w+)/g)].map(([, name]) => name!),
  )
  const internal = new Set(['KINORA_FAILPOINT'])
  assert.deepEqual(
    [...new Set(asked)].filter((name) => !documented.has(name) && !internal.has(name)),
    [],
  )
})

test('docs/reliability.md says of each invariant whether the audit checks it', () => {
  const rows = [...read('docs/reliability.md').matchAll(/^\| (I\d+) \| .+ \| (yes)? ?\|$/gm)]
  const documented = rows.filter(([, , audited]) => audited).map(([, name]) => name!)
  const checked = sourcesIn('server').flatMap(({ text }) =>
    [...text.matchAll(/invariant: '(I\d+)'/g)].map(([, name]) => name!),
  )
  assert.deepEqual(
    documented,
    [...new Set(checked)].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1))),
  )
})

test('every decision stands in the index, and is numbered', () => {
  const pages = filesMatching(['docs/decisions/*.md']).filter(({ path }) => !path.endsWith('README.md'))
  const index = read('docs/decisions/README.md')
  const numbers = pages.map(({ path, lines }) => {
    const [, file, number] = /\/((\d{4})-[a-z0-9-]+\.md)$/.exec(path) ?? []
    assert.ok(file, path)
    assert.ok(index.includes(`](${file})`), `${file} is not in the index`)
    assert.ok(lines[0]!.startsWith(`# ${number}. `), `${path}: ${lines[0]}`)
    return number
  })
  assert.equal(new Set(numbers).size, numbers.length)
})

/** Code spans of a page that begin with a folder of the repository; `<feature>` stands for any name. */
const FOLDERS = /^(?:server|console|test|docs|bench|dev|deploy|examples)\//

test('every file and folder that a document names is there', () => {
  const pages = filesMatching([
    '{ARCHITECTURE,CONTRIBUTING,README}.md',
    'docs/{console,engines}.md',
    'docs/{contributing,internals}/*.md',
    'bench/README.md',
  ])
  const wrong = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/`([\w./<>*-]+)`/g)]
      .map(([, name]) => name!)
      .filter((name) => FOLDERS.test(name) && globSync(name.replace(/<\w+>/g, '*'), { cwd: ROOT }).length === 0)
      .map((name) => `${path}: ${name}`),
  )
  assert.deepEqual(wrong, [])
})

test('docs/clients.md names the versions of clients and generators that the tests run', () => {
  const page = read('docs/clients.md')
  const packages = ['', 'test/clients/codex/', 'test/clients/openapi/', 'test/clients/judges/'].flatMap((folder) => {
    const { dependencies, devDependencies } = JSON.parse(read(`${folder}package.json`))
    return Object.entries<string>({ ...devDependencies, ...dependencies })
  })
  const pip = [...read('test/clients/toolchains/requirements.txt').matchAll(/^([\w-]+)(?:\[\w+\])?==(\S+)$/gm)]
  const go = [...read('test/clients/toolchains/install.sh').matchAll(/cmd\/([\w-]+)@v(\S+)/g)]
  const versions = [...packages, ...[...pip, ...go].map(([, name, version]) => [name!, version!] as const)]
  const named = /^(openai|@openai\/|openai-agents$|ai$|@ai-sdk\/openai|@?langchain.openai$|openapi-|oapi-codegen)/
  const wrong = versions.filter(([name, version]) => named.test(name) && !page.includes(version))
  assert.deepEqual(wrong, [])
})

test('every folder that may be imported is in the table of ARCHITECTURE.md', () => {
  const [, layers] = /^## Layers\n([\s\S]*?)\n## /m.exec(read('ARCHITECTURE.md'))!
  const [, table] = /MAY_IMPORT = \{([\s\S]*?)\n\}/.exec(read('.dependency-cruiser.js'))!
  const folders = [...table!.matchAll(/^ {2}'?([a-z-]+(?:\.ts)?)'?: (?:\[|BELOW)/gm)]
    .map(([, name]) => (name!.endsWith('.ts') ? name! : `${name}/`))
    .filter((name) => !layers!.includes(`\`${name}\``))
  assert.deepEqual(folders, [])
})

const code = filesMatching(
  ['server', 'console', 'test', 'bench', 'bin', 'dev'].map((at) => `${at}/**/*.{ts,tsx,js,css,sql}`),
)

test('every section of the contract that the code cites is there', () => {
  const sections = contractSections()
  const cited =
    /\bcontract (?:sections? )?(\d+(?:\.\d+)?(?:(?:, (?:and )?| and | to )\d+(?:\.\d+)?(?!\d* [a-z]{2,}))*)/g
  const wrong = code.flatMap(({ path, text }) =>
    [...text.matchAll(cited)].flatMap(([citation, numbers]) =>
      numbers!
        .match(/\d+(?:\.\d+)?/g)!
        .filter((number) => !sections.has(number))
        .map((number) => `${path}: ${citation}: no section ${number}`),
    ),
  )
  assert.deepEqual(wrong, [])
})

test('every document that a comment names is there', () => {
  const wrong = code.flatMap(({ path, text }) =>
    [...text.matchAll(/^\s*(?:\*|\/\/|\/\*\*|--).*?\b((?:docs\/[\w./-]+|[A-Z]+)\.md)\b/gm)]
      .filter(([, page]) => !existsSync(join(ROOT, page!)))
      .map(([, page]) => `${path}: ${page}`),
  )
  assert.deepEqual(wrong, [])
})

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function linksOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!).filter((link) => !/^[a-z]+:/.test(link))
}

/** As GitHub makes them: https://docs.github.com/en/get-started/writing-on-github */
function anchorsOf(path: string): string[] {
  const headings = existsSync(join(ROOT, path)) && path.endsWith('.md') ? read(path).matchAll(/^#+ (.+)$/gm) : []
  return [...headings].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
}

function firstColumn(text: string): string[] {
  return [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!)
}

/** Names of settings as the page writes them: below a heading of their own by their last name, else dotted. */
function namesIn(schema: TSchema): string[] {
  const found: string[] = []
  const visit = (part: Record<string, unknown>, path: string) => {
    const { properties, items, additionalProperties } = part as {
      properties?: object
      items?: object
      additionalProperties?: unknown
    }
    for (const [name, member] of Object.entries(properties ?? {})) {
      const own = /^(plans|video_models|chat_models)$/.test(path) || path === '' ? name : `${path}.${name}`
      const inside = (member as { properties?: object }).properties
      // Its members are those of `storage`.
      const explained = own === 'storage.also_read'
      if (explained || !inside || Object.keys(inside).length === 0) found.push(own)
      if (!explained) visit(member as Record<string, unknown>, own)
    }
    if (items) visit(items as Record<string, unknown>, path)
    if (typeof additionalProperties === 'object') visit(additionalProperties as Record<string, unknown>, path)
  }
  visit(schema as unknown as Record<string, unknown>, '')
  return found
}
