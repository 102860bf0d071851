#!/usr/bin/env node
// Builds the console into `console/dist`. With --if-installed, as `npm ci` calls it, an install without development packages is
// left alone. Readable by every Node that runs Vite.
import { renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const home = join(dirname(fileURLToPath(import.meta.url)), '..')
const vite = await import('vite').catch(() => null)

if (vite !== null) {
  await buildBeside(vite)
} else if (!process.argv.includes('--if-installed')) {
  process.stderr.write('kinora: the console is built with development packages. Run npm ci without --omit=dev.\n')
  process.exitCode = 1
}

/** Builds beside and swaps, so that a service that starts meanwhile does not find half a console. */
async function buildBeside({ build }) {
  const dist = join(home, 'dist')
  const next = join(home, `dist-${process.pid}`)
  try {
    await build({ configFile: join(home, 'vite.config.ts'), build: { outDir: next, emptyOutDir: true } })
    rmSync(dist, { recursive: true, force: true })
    renameSync(next, dist)
  } finally {
    rmSync(next, { recursive: true, force: true })
  }
}
