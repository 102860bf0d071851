import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The checkout. */
export const ROOT = join(import.meta.dirname, '..', '..')

export type Source = { path: string; text: string; lines: string[] }

/** Source files below the given folders, with paths relative to the checkout. */
export function sourcesIn(...folders: string[]): Source[] {
  const patterns = folders.map((folder) => `${folder}/**/*.{ts,tsx,js}`)
  return filesMatching(patterns)
}

/** Every file that is part of the repository and text. */
export function textFiles(): Source[] {
  const top = [
    '*.{md,json,yaml,yml}',
    'LICENSE',
    'NOTICE',
    '.gitignore',
    '.editorconfig',
    '.nvmrc',
    '.ci/*',
    'Dockerfile',
    '.dockerignore',
    'deploy/Caddyfile',
  ]
  const folders = ['server', 'console', 'dev', 'test', 'bench', 'bin', 'docs', 'examples', 'deploy']
  return filesMatching([
    ...top,
    ...folders.map((folder) => `${folder}/**/*.{ts,tsx,js,css,html,sql,md,json,yaml,yml,sh,conf,service}`),
  ])
}

export function filesMatching(patterns: string[]): Source[] {
  const found = globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules/**', '**/dist/**'] })
  return [...new Set(found)].sort().map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return { path, text, lines: text.split('\n') }
  })
}
