import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { startStrictApp } from './strict-app.ts'
import { commandOf, HERE, run, without } from './toolchains/toolchains.ts'

/** The Python packages of what strict.test.ts runs in Node. */
test('openai, agents and langchain of Python: a strict chat server accepts every request', {
  skip: without('python'),
}, async (t) => {
  const service = await startStrictApp()
  t.after(() => service.close())
  const env = { URL_OF: service.app.url, KEY: service.person.key, LANGSMITH_TRACING: 'false', no_proxy: '127.0.0.1' }
  const said = JSON.parse(await run(commandOf('python'), [join(HERE, 'strict.py')], { cwd: HERE, env })) as object
  assert.deepEqual(service.upstream.refused, [])
  assert.equal(Object.keys(said).length, 12)
  for (const [way, text] of Object.entries(said)) assert.equal(text, 'It is a program.', way)
  assert.equal(service.upstream.requests.length, 3 * 12)
})
