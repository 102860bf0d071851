import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

/** What the end of a run repeats: why a test was skipped, or which one failed, where, and the first line of the reason. */
export type EndLine = { skipped: string } | { failed: string }

/** A reporter of `node:test`: one {@link EndLine} of JSON for each test that was skipped or failed. Source: https://nodejs.org/api/test.html#custom-reporters */
export default async function* endReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const outside = new Map<string | undefined, string>()
  for await (const event of source) {
    if (event.type === 'test:diagnostic' && /^(Error|Warning): /.test(event.data.message))
      outside.set(event.data.file, event.data.message)
    const line = lineOf(event, outside)
    if (line) yield `${JSON.stringify(line)}\n`
  }
}

/** `outside`: by file, the last error that no test was there to catch; it fails the file, whose own failure says "test failed" alone. */
function lineOf({ type, data }: TestEvent, outside: Map<string | undefined, string>): EndLine | undefined {
  if (type === 'test:pass' && data.skip !== undefined)
    return { skipped: typeof data.skip === 'string' && data.skip !== '' ? data.skip : `${data.name}: no reason given` }
  if (type !== 'test:fail') return undefined
  const { cause = data.details.error, message } = data.details.error as Error & { cause?: unknown }
  const reason = cause instanceof Error ? cause.message : message
  const where = data.file === undefined ? '' : `${relative(process.cwd(), data.file)}:${data.line} `
  const text = `${data.name}\n${reason.trim()}\n${outside.get(data.file) ?? ''}`.trim()
  return { failed: where + text.split('\n').slice(0, 16).join('\n      ') }
}
