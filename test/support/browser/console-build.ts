import { spawnSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../sources.ts'

/** Builds the console when a source of it is newer than what was built. `test/run.ts` does so once, before any test. */
export function buildConsoleWhenStale(): void {
  const built = timeOf('console/dist/index.html')
  const sources = globSync(['console/**/*.*', 'package-lock.json'], {
    cwd: ROOT,
    exclude: ['console/dist*/**'],
  })
  if (sources.every((path) => timeOf(path) <= built)) return
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'console', 'build', 'build-console.js')], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the console does not build: ${stderr}`)
}

function timeOf(path: string): number {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
}
