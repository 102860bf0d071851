import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { tempDir } from '../support/service.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const NODE_MODULES = join(ROOT, 'node_modules')
const BUNDLE = join(NODE_MODULES, '.cache', 'kinora', 'packages')

/** What a program prints that first prefers the bundle in `dir`. */
async function printed(dir: string, program: string): Promise<string> {
  const bundled = pathToFileURL(join(ROOT, 'server', 'platform', 'start', 'bundled-packages.ts')).href
  const code = `
    const { preferBundledPackages } = await import(${JSON.stringify(bundled)})
    preferBundledPackages(${JSON.stringify({ dir, node_modules: NODE_MODULES })})
    ${program}`
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], { cwd: ROOT })
  return stdout.trim()
}

const EXPORTS = `
  for (const name of ['kysely', 'typebox', 'typebox/compile', 'typebox/system', 'typebox/value'])
    console.log(name, Object.keys(await import(name)).sort().join())`

test('the bundle that npm ci made exports all that its packages do, and is what is read', async () => {
  assert.equal(await printed(BUNDLE, EXPORTS), await printed(join(BUNDLE, 'none'), EXPORTS))
  assert.match(await printed(BUNDLE, "console.log(import.meta.resolve('kysely'))"), /kinora\/packages\/kysely\.js$/)
})

test('every import of a bundled package, ours or of another package, has a place in the bundle', async () => {
  const { files } = JSON.parse(readFileSync(join(BUNDLE, 'manifest.json'), 'utf8'))
  const { stdout } = await promisify(execFile)('grep', ['-rhoE', "from '(kysely|typebox)[^']*'", join(ROOT, 'server')])
  const imported = new Set([...stdout.matchAll(/'([^']+)'/g)].map(([, name]) => name!))
  assert.deepEqual([...imported].sort(), Object.keys(files).sort())
})

test('a bundle of another version than the package is left alone, and so is one that is missing or broken', async (t) => {
  const { path: dir, remove } = tempDir()
  t.after(remove)
  const { version } = JSON.parse(readFileSync(join(NODE_MODULES, 'kysely', 'package.json'), 'utf8'))
  const read = async (manifest: string) => {
    writeFileSync(join(dir, 'kysely.js'), 'export const Kysely = "the bundle"')
    writeFileSync(join(dir, 'manifest.json'), manifest)
    return printed(dir, "console.log((await import('kysely')).Kysely === 'the bundle')")
  }
  const files = { kysely: 'kysely.js' }
  assert.equal(await read(JSON.stringify({ versions: { kysely: version }, files })), 'true')
  assert.equal(await read(JSON.stringify({ versions: { kysely: '0.0.1' }, files })), 'false')
  assert.equal(await read('{"versions": {'), 'false')
  assert.equal(
    await printed(join(dir, 'none'), "console.log((await import('kysely')).Kysely === 'the bundle')"),
    'false',
  )
})
