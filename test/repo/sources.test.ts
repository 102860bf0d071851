import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { contractSections } from '../support/pages/contract-page.ts'
import { filesMatching, ROOT } from '../support/sources.ts'

const folders = ['server', 'console', 'test', 'bench', 'bin', 'dev']
const files = filesMatching(folders.map((folder) => `${folder}/**/*.{ts,tsx,js,css,sql}`)).filter(
  ({ path }) => path !== 'test/repo/sources.test.ts',
)

test('every section of the contract that the code cites is there', () => {
  const sections = contractSections()
  const wrong = files.flatMap(({ path, text }) =>
    [
      ...text.matchAll(
        /\bcontract (?:sections? )?(\d+(?:\.\d+)?(?:(?:, (?:and )?| and | to )\d+(?:\.\d+)?(?!\d* [a-z]{2,}))*)/g,
      ),
    ].flatMap(([cited, numbers]) =>
      numbers!
        .match(/\d+(?:\.\d+)?/g)!
        .filter((number) => !sections.has(number))
        .map((number) => `${path}: ${cited}: no section ${number}`),
    ),
  )
  assert.deepEqual(wrong, [])
})

test('every source that a comment names can be looked up: a page of ours with that heading, an RFC, or an address', () => {
  const wrong = files.flatMap(({ path, text }) =>
    sourcesOf(text).flatMap((source) => {
      const missing = pagesOf(source).filter(({ file, heading }) => !isThere(file, heading))
      if (missing.length > 0)
        return missing.map(({ file, heading }) => `${path}: ${file} has no "${heading}": ${source}`)
      return /\bcontract \d|\bRFC \d+|https:\/\/\S|\bI\d+\b/.test(source) || pagesOf(source).length > 0
        ? []
        : [`${path}: ${source}`]
    }),
  )
  assert.deepEqual(wrong, [])
})

/** What stands behind `Source:` up to the end of its comment. */
function sourcesOf(text: string): string[] {
  const comments = text.match(/\/\*[\s\S]*?\*\/|(?:^[ \t]*(?:\/\/|--).*\n)+/gm) ?? []
  return comments.flatMap((comment) => {
    const flat = comment.replace(/\n\s*(?:\*(?!\/)|\/\/|--)? ?/g, ' ').replace(/\s*\*\/$/, '')
    return flat.split(/Source: +/).slice(1)
  })
}

/** Pages of the repository that a source names, with the heading behind the comma where there is one. */
function pagesOf(source: string): Array<{ file: string; heading: string | null }> {
  return [...source.matchAll(/\b([\w./-]+\.md|console\/[\w./-]+\.tsx?)(?:, ([^.;:]+))?/g)].map(([, file, heading]) => ({
    file: file!,
    heading: heading ?? null,
  }))
}

function isThere(file: string, heading: string | null): boolean {
  const path = join(ROOT, file)
  if (!existsSync(path)) return false
  if (heading === null) return true
  const wanted = plain(heading)
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => /^#+ /.test(line))
    .some((line) => plain(line).includes(wanted) || wanted.startsWith(`${plain(line)} `))
}

function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[`#]/g, '')
    .replace(/[^\p{L}\p{N}/]+/gu, ' ')
    .trim()
}
