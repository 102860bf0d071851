import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * Makes the npm package `kinora`: `node dev/pack.ts [--to <directory>]`, by default `dist/`. The same tree as the repository, with each
 * source stripped of its types, line for line, since Node strips none inside `node_modules`. Prints the path of the tarball.
 * Source: docs/decisions/0043-packages.md.
 */
const ROOT = join(import.meta.dirname, '..')

/** Copied as they are. Tests and what builds the console stay behind. */
const FILES = [
  'bin/kinora.js',
  'server/**/*.{css,js,mp4,sql}',
  'console/dist/**/*.*',
  'docs/**/*.*',
  'deploy/**/*.*',
  'examples/*.yaml',
  'examples/comfyui/**/*.json',
  '{README,CHANGELOG,ARCHITECTURE}.md',
  'LICENSE',
  'NOTICE',
]

type Locked = {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}
type Lock = { packages: Record<string, Locked> } & Record<string, unknown>

const { values } = parseArgs({ options: { to: { type: 'string', default: join(ROOT, 'dist') } } })
process.stdout.write(`${pack(values.to)}\n`)

function pack(to: string): string {
  const tree = join(to, 'package')
  rmSync(tree, { recursive: true, force: true })
  const sources = filesOf(['server/**/*.ts']).filter((path) => !path.endsWith('.test.ts'))
  for (const path of sources) write(tree, path.replace(/\.ts$/, '.js'), stripped(read(path)))
  const copied = filesOf(FILES)
  if (!copied.includes('console/dist/index.html')) throw new Error('The console is not built: run npm run build.')
  for (const path of copied) {
    mkdirSync(dirname(join(tree, path)), { recursive: true })
    cpSync(join(ROOT, path), join(tree, path))
  }
  const manifest = JSON.parse(read('package.json'))
  write(tree, 'package.json', json(publicManifest(manifest)))
  write(tree, 'npm-shrinkwrap.json', json(productionLock(JSON.parse(read('package-lock.json')), manifest)))
  const out = execFileSync('npm', ['pack', tree, '--pack-destination', to, '--json', '--loglevel', 'error'], {
    encoding: 'utf8',
  })
  return join(to, JSON.parse(out)[0].filename)
}

/** Types become spaces, so lines and columns of traces are those of the source. Names of our own files end in `.js`. */
function stripped(source: string): string {
  return stripTypeScriptTypes(source)
    .replace(/(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g, '$1$2.js$1')
    .replace(/[ \t]+$/gm, '')
}

function publicManifest({ private: _, scripts: __, devDependencies: ___, ...manifest }: Record<string, unknown>) {
  return { ...manifest, exports: { './package.json': './package.json' } }
}

/** The part of the lock file that a service needs: an installation of the package has the very versions that were tested. */
function productionLock(lock: Lock, manifest: Locked): Lock {
  const wanted = new Set<string>()
  const follow = (from: string, { dependencies, optionalDependencies, ...peers }: Locked) => {
    const required = Object.keys(peers.peerDependencies ?? {}).filter(
      (name) => !peers.peerDependenciesMeta?.[name]?.optional,
    )
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...required]) {
      const path = installedAt(lock, from, name)
      if (path === null || wanted.has(path)) continue
      wanted.add(path)
      follow(path, lock.packages[path]!)
    }
  }
  follow('', manifest)
  const kept = Object.entries(lock.packages).filter(([path]) => wanted.has(path))
  const { devDependencies: _, ...root } = lock.packages['']! as Record<string, unknown>
  return { ...lock, packages: { '': root, ...Object.fromEntries(kept) } }
}

/** Where `from` finds the package, as Node looks for it; null for one of another machine that the lock leaves out. */
function installedAt(lock: Lock, from: string, name: string): string | null {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const path = `${at === '' ? '' : `${at}/`}node_modules/${name}`
    if (lock.packages[path]) return path
    if (at === '') return null
  }
}

function filesOf(patterns: string[]): string[] {
  return globSync(patterns, { cwd: ROOT }).sort()
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function write(tree: string, path: string, text: string): void {
  mkdirSync(dirname(join(tree, path)), { recursive: true })
  writeFileSync(join(tree, path), text)
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
