import { createHash } from 'node:crypto'

/** The same ids wherever they are derived: `name` is that of a thing on which several processes work, `part` one span of its trace. */
export function derivedIds(name: string, part: string): { trace_id: string; span_id: string } {
  const digest = (text: string) => createHash('sha256').update(text).digest('hex')
  return { trace_id: digest(`trace:${name}`).slice(0, 32), span_id: digest(`span:${name}/${part}`).slice(0, 16) }
}
