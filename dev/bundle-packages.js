#!/usr/bin/env node
// Bundles the packages of the most modules into `node_modules/.cache/kinora/packages`: a start then reads ten files of them instead
// of a thousand. With --if-installed, as `npm ci` calls it, an install without development packages is left alone.
// Readable by every Node that runs rolldown.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What is imported of each. Only packages that are modules throughout and read no files beside their code. */
const IMPORTED = {
  kysely: ['kysely'],
  typebox: ['typebox', 'typebox/compile', 'typebox/system', 'typebox/value'],
}

const home = join(dirname(fileURLToPath(import.meta.url)), '..')
const rolldown = await import('rolldown').catch(() => null)

if (rolldown !== null) {
  await bundleBeside(rolldown)
} else if (!process.argv.includes('--if-installed')) {
  process.stderr.write('kinora: packages are bundled with development packages. Run npm ci without --omit=dev.\n')
  process.exitCode = 1
}

/** Writes beside and swaps, so that a service that starts meanwhile does not find half of it. */
async function bundleBeside({ rolldown }) {
  const dir = join(home, 'node_modules', '.cache', 'kinora', 'packages')
  const next = `${dir}-${process.pid}`
  const specifiers = Object.values(IMPORTED).flat()
  const fileOf = (specifier) => `${specifier.replace('/', '-')}.js`
  try {
    mkdirSync(next, { recursive: true })
    const input = Object.fromEntries(specifiers.map((each) => [fileOf(each).slice(0, -3), each]))
    const build = await rolldown({ input, cwd: home, platform: 'node', treeshake: false, logLevel: 'warn' })
    await build.write({ dir: next, format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'shared-[hash].js' })
    await build.close()
    const versions = Object.fromEntries(Object.keys(IMPORTED).map((name) => [name, versionOf(name)]))
    const files = Object.fromEntries(specifiers.map((each) => [each, fileOf(each)]))
    writeFileSync(join(next, 'package.json'), '{ "type": "module" }\n')
    writeFileSync(join(next, 'manifest.json'), `${JSON.stringify({ versions, files }, null, 2)}\n`)
    rmSync(dir, { recursive: true, force: true })
    renameSync(next, dir)
  } finally {
    rmSync(next, { recursive: true, force: true })
  }
}

function versionOf(name) {
  return JSON.parse(readFileSync(join(home, 'node_modules', name, 'package.json'), 'utf8')).version
}
