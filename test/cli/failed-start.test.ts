import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKinora } from '../support/command.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'

/** Loaded before the command: the packages for traces cannot be found, as where nobody installed them. */
const WITHOUT_TRACES = `import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) {
  if (!name.startsWith('@opentelemetry/')) return next(name, context)
  throw Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' })
} })`

test('a start on an external database that fails once its connections are open exits with 1 and the reason', async (t) => {
  const dir = dataDir()
  const external = await emptyDatabase()
  t.after(async () => {
    await external.drop()
    await dir.remove()
  })
  const env = {
    DATABASE_URL: external.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(WITHOUT_TRACES)}"`,
  }
  for (const workers of ['1', '2']) {
    const ran = await runKinora(['serve', '--data-dir', dir.path, '--port', '0', '--workers', workers], { env })
    assert.equal(ran.code, 1, ran.stderr)
    assert.match(ran.stderr, /^kinora: Tracing is configured, and its packages are not installed/m)
  }
})
