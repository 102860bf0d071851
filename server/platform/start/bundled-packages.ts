import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What `dev/bundle-packages.js` made: which version of each package, and the file of each specifier. */
type Manifest = { versions: Record<string, string>; files: Record<string, string> }

/**
 * From now on, imports of the packages that `dev/bundle-packages.js` bundled in `dir` read the bundle. Without one, or when a package in
 * `node_modules` is of another version by now, the packages are read as they are. Call it before they are imported.
 * Source: https://nodejs.org/api/module.html#moduleregisterhooksoptions
 */
export function preferBundledPackages({ dir, node_modules }: { dir: string; node_modules: string }): void {
  const manifest = readJson<Manifest>(join(dir, 'manifest.json'))
  if (!manifest) return
  const isCurrent = ([name, version]: [string, string]) =>
    readJson<{ version: string }>(join(node_modules, name, 'package.json'))?.version === version
  if (!Object.entries(manifest.versions).every(isCurrent)) return
  const urls = new Map(
    Object.entries(manifest.files).map(([name, file]) => [name, pathToFileURL(join(dir, file)).href]),
  )
  registerHooks({
    resolve(specifier, context, next) {
      const url = urls.get(specifier)
      return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true }
    },
  })
}

function readJson<T>(path: string): T | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T
  } catch {
    return null
  }
}
