import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sourcesIn } from '../support/sources.ts'

test('a name is exported by one file of server/ only', () => {
  const files = new Map<string, Set<string>>()
  for (const { path, text } of sourcesIn('server').filter(({ path }) => !path.endsWith('.test.ts'))) {
    for (const name of exportedNames(text)) files.set(name, (files.get(name) ?? new Set()).add(path))
  }
  assert.ok(files.size > 1000)
  const several = [...files].filter(([, paths]) => paths.size > 1)
  assert.deepEqual(
    several.map(([name, paths]) => `${name}: ${[...paths].join(', ')}`),
    [],
  )
})

test('exported names are found in every form of declaration, and re-exports are not', () => {
  const text = [
    'export type A = string',
    'export interface B {',
    'export const C = 1',
    'export let d = 1',
    'export function e(): void {',
    'export async function f(): Promise<void> {',
    'export async function* g() {',
    'export class H extends Error {',
    'export const { i, j: k } = pair',
    'export const [Q, R] = list',
    'export { l, m as n }',
    "export { o } from './o.ts'",
    "export type { P } from './p.ts'",
    '  export const quoted = 1',
  ]
  assert.equal(exportedNames(text.join('\n')).join(' '), 'A B C d e f g H i k Q R l n')
})

/** What a file declares and exports. The formatter begins each such statement at the beginning of a line. */
function exportedNames(text: string): string[] {
  return [...text.matchAll(DECLARATION)].flatMap(([, name, destructured, list]) => {
    if (name !== undefined) return [name]
    const members = (destructured ?? list ?? '').split(',').map((member) => member.trim())
    return members.filter((member) => member !== '').map((member) => member.split(/: | as /).at(-1)!)
  })
}

const DECLARATION =
  /^export (?:(?:declare |abstract |async )*(?:type|interface|class|function\*?|const|let|enum) (\w+)|const [{[]([^}\]]*)[}\]]|(?:type )?\{([^}]*)\}(?! from))/gm
