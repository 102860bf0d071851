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
