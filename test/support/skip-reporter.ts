import type { TestEvent } from 'node:test/reporters'

/** A reporter of `node:test`: one line of JSON, the reason, for each test that was skipped. Source: https://nodejs.org/api/test.html#custom-reporters */
export default async function* skipReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of source) {
    if (type !== 'test:pass' || data.skip === undefined) continue
    yield `${JSON.stringify(typeof data.skip === 'string' && data.skip !== '' ? data.skip : `${data.name}: no reason given`)}\n`
  }
}
