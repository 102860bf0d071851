import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'

const EVERYWHERE = ['server', 'console', 'test']

/**
 * The test files that arguments of `npm test` name: a file is itself, a folder every test below it, nothing is every test. In order of
 * name, each once. Throws for a name that leads to no test, so that a typing error is no green run. Paths are relative to `root`.
 */
export function testFilesOf(names: readonly string[], root = '.'): string[] {
  const files = (names.length > 0 ? names : EVERYWHERE).flatMap((name) => {
    const path = name.replaceAll('\\', '/').replace(/^\.\//, '').replace(/\/+$/, '')
    const facts = statSync(join(root, path), { throwIfNoEntry: false })
    const found = facts?.isDirectory() ? testsBelow(path, root) : facts ? [path] : []
    if (found.length === 0) throw new Error(`There is no test file ${name}, and no folder of that name holds one.`)
    return found.map((file) => file.replaceAll('\\', '/'))
  })
  return [...new Set(files)].sort()
}

/** Packages that a test installs beside itself have tests of their own, which are not ours. */
function testsBelow(folder: string, root: string): string[] {
  return globSync(`${folder}/**/*.test.ts`, { cwd: root, exclude: ['**/node_modules/**'] })
}

/** The files in an order that the seed decides (Fisher and Yates, with a multiplicative generator). */
export function inRandomOrder(files: readonly string[], seed: number): string[] {
  const order = [...files]
  let state = seed >>> 0 || 1
  for (let last = order.length - 1; last > 0; last--) {
    state = Math.imul(state, 48_271) >>> 0
    const other = state % (last + 1)
    ;[order[last], order[other]] = [order[other]!, order[last]!]
  }
  return order
}
