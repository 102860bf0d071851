import assert from 'node:assert/strict'
import { basename, dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { functionsOf, importsOf, type Source, sourcesIn } from '../support/sources.ts'

const server = sourcesIn('server')
const all = sourcesIn('server', 'test', 'bench', 'console', 'bin', 'dev')

/** Folders of `server/`, and what each may import. Source: ARCHITECTURE.md. */
const BELOW = ['platform', 'config', 'context.ts', 'identity']
const DOMAIN = ['platform', 'config', 'engines', 'media', 'context.ts', 'identity']
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  platform: [],
  config: ['platform'],
  media: ['platform'],
  engines: ['platform', 'config', 'media'],
  'context.ts': ['platform', 'config', 'engines'],
  identity: ['platform', 'config', 'context.ts'],
  nodes: ['platform', 'config'],
  catalog: [...BELOW],
  files: [...BELOW, 'media'],
  events: ['platform'],
  billing: [...BELOW, 'events'],
  chat: [...DOMAIN, 'catalog', 'files', 'billing'],
  videos: [...DOMAIN, 'catalog', 'files', 'billing', 'events'],
  console: [...DOMAIN, 'billing', 'videos'],
  responses: [...DOMAIN, 'catalog', 'files', 'billing', 'events', 'chat'],
  reload: [...DOMAIN, 'videos'],
  webhooks: [...DOMAIN, 'events', 'nodes'],
}
/** The context is a type that names what all folders use: these may take its parts as types. */
const TOP = /^(cli|audit|api-docs|assembly|app\.ts|main\.ts|health\.ts)$/

test('every folder of server/ imports only what lies below it', () => {
  const wrong = server.flatMap((source) => {
    if (source.path.endsWith('.test.ts')) return []
    const home = homeOf(source.path)
    if (TOP.test(home)) return []
    const allowed = MAY_IMPORT[home]
    if (!allowed) return [`${source.path}: server/${home} is not in MAY_IMPORT, nor in the table of ARCHITECTURE.md`]
    return importsOf(source).flatMap((name) => {
      if (!name.startsWith('.')) return []
      const target = normalize(join(dirname(source.path), name))
      const from = target.startsWith('server/') ? homeOf(target) : target
      return from === home || allowed.includes(from) ? [] : [`${source.path}: imports ${target}`]
    })
  })
  report(wrong)
})

test('tests, benchmarks and the console are imported by nobody above them, and the console takes only types of the server', () => {
  const wrong = sourcesIn('console').flatMap((source) =>
    importsOf(source).flatMap((name) => {
      const target = name.startsWith('.') ? normalize(join(dirname(source.path), name)) : name
      if (!target.startsWith('server/')) return []
      const typed = new RegExp(`import type [^;]*['"]${name.replaceAll('.', '\\.')}['"]`).test(source.text)
      return typed && basename(target) === 'schema.ts' ? [] : [`${source.path}: imports ${target}`]
    }),
  )
  report(wrong)
})

test('relative imports name the file with its ending', () => {
  const wrong = all.flatMap((source) => {
    const names = importsOf(source).filter((name) => name.startsWith('.') && !/\.(ts|tsx|js|css|json|svg)$/.test(name))
    return names.map((name) => `${source.path}: ${name}`)
  })
  report(wrong)
})

test('files are kebab-case and named for what they do', () => {
  const vague = /(^|[-.])(services?|managers?|helpers?|utils?|common|types|index|misc)([-.]|$)/
  const wrong = all.flatMap(({ path }) => {
    const name = basename(path).replace(/\.(ts|tsx|js)$/, '')
    if (
      path === 'test/support/service.ts' ||
      path === 'test/platform/service.ts' ||
      path === 'bench/support/service.ts'
    )
      return []
    if (!/^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.d|\.config)?$/.test(name)) return [`${path}: not kebab-case`]
    return vague.test(name) ? [`${path}: the name excludes nothing`] : []
  })
  report(wrong)
})

test('a file has at most 300 lines, a test 400; a function 60 of its own, and 100 with those inside it', () => {
  const wrong = all.flatMap((source) => {
    const lines = source.lines.length - 1
    const most = isTest(source.path) ? 400 : 300
    const long = functionsOf(source).filter(({ lines, own }) => lines > 100 || (own > 60 && !isTest(source.path)))
    return [
      ...(lines > most ? [`${source.path}: ${lines} lines`] : []),
      ...long.map(({ line, lines, own, head }) => `${source.path}:${line}: ${own} of ${lines} lines: ${head}`),
    ]
  })
  report(wrong)
})

test('no file only re-exports what others define', () => {
  const wrong = server.filter(({ lines }) => {
    const code = lines.filter((line) => line.trim() !== '' && !/^\s*(\/\/|\/?\*)/.test(line))
    return code.length > 0 && code.every((line) => /^export (type )?[*{].* from /.test(line))
  })
  report(wrong.map(({ path }) => path))
})

test('only errors are classes; no enum, namespace or parameter property, and no any outside tests', () => {
  const rules: ReadonlyArray<[RegExp, string]> = [
    [/^\s*(export )?(default )?(abstract )?class (?!\w+ extends \w*Error\b)/, 'a class that is no error'],
    [/^\s*(export )?(const )?enum \w/, 'an enum'],
    [/^\s*(export )?namespace \w/, 'a namespace'],
    [/\bconstructor\(.*?[(,]?\s*(public|private|protected|readonly) \w+\??:/, 'a parameter property'],
    [/(: |<|\bas |\| )any\b/, 'any'],
  ]
  const wrong = all.flatMap((source) =>
    source.lines.flatMap((line, index) => {
      if (/^\s*(\/\/|\*|\/\*)/.test(line)) return []
      const code = line.replace(/(['"`])(?:\\.|(?!\1).)*\1/g, '""')
      const applied = isTest(source.path) ? rules.slice(0, -1) : rules
      return applied.filter(([pattern]) => pattern.test(code)).map(([, what]) => `${source.path}:${index + 1}: ${what}`)
    }),
  )
  report(wrong)
})

function homeOf(path: string): string {
  return path.split('/')[1]!
}

function isTest(path: string): boolean {
  return path.startsWith('test/') || path.endsWith('.test.ts')
}

function report(wrong: string[]): void {
  assert.equal(wrong.length, 0, `\n  ${wrong.join('\n  ')}\n`)
}

test('the checks find what they look for', () => {
  const source = (text: string): Source => ({ path: 'x.ts', text, lines: text.split('\n') })
  const names = importsOf(
    source(
      "import {\n  a,\n} from './a.ts'\nimport type { C } from './c.ts'\nimport './d.css'\nconst e = await import('./e.ts')\nexport { f } from './f.ts'\n",
    ),
  )
  assert.deepEqual(names, ['./a.ts', './c.ts', './f.ts', './d.css', './e.ts'])
  const code = [
    'function a(',
    '  b: string,',
    '): void {',
    '  if (b) {',
    '  }',
    '  run(() => {',
    '  })',
    '}',
    'const c = () => {',
    '}',
  ]
  const found = functionsOf(source(code.join('\n')))
  assert.deepEqual(
    found.map(({ line, lines, own }) => [line, lines, own]),
    [
      [3, 6, 4],
      [6, 2, 2],
      [9, 2, 2],
    ],
  )
})
