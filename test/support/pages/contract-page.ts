import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../sources.ts'

export type Section = { heading: string; lines: string[] }

/** The numbered sections of `docs/contract.md`, each with its heading as its first line and without those within it. */
export function contractSections(): ReadonlyMap<string, Section> {
  const sections = new Map<string, Section>()
  let current: Section | null = null
  for (const line of readFileSync(join(ROOT, 'docs/contract.md'), 'utf8').split('\n')) {
    const number = /^##+ (\d+(?:\.\d+)?)\.? /.exec(line)?.[1]
    if (number !== undefined) {
      current = { heading: line, lines: [] }
      sections.set(number, current)
    }
    current?.lines.push(line)
  }
  return sections
}
