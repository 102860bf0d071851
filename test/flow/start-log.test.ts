import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../server/platform/log.ts'
import { MODEL, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

/** A service whose log is kept, and the lines of a job by event. */
async function startLogged(model?: string) {
  const lines: string[] = []
  const log = openLog('debug', { write: (line) => void lines.push(line) })
  const service = await startPipelineApp(model === undefined ? {} : { model }, { log })
  const linesOf = (id: string, wanted: string) =>
    lines.map((line) => JSON.parse(line)).filter(({ event, video_id }) => event === wanted && video_id === id)
  return { service, lines, linesOf }
}

test('a start that fails names the engine and its address in the log, without its credential and query', async () => {
  const model =
    '{ kind: videos-api, dialect: openai, base_url: "http://127.0.0.1:1/gpu/", api_key: canary, model: wan }'
  const { service, lines, linesOf } = await startLogged(model)
  try {
    const id = await service.submit({ model: MODEL })
    await service.drive(id, ({ tries }) => tries > 0)
    const failed = linesOf(id, 'start_failed')
    assert.ok(failed.length > 0, lines.join(''))
    for (const { engine, url } of failed) assert.deepEqual([engine, url], ['videos-api', 'http://127.0.0.1:1/gpu'])
    assert.ok(!lines.join('').includes('canary'))
  } finally {
    await service.close()
  }
})

test('a job that reaches a time limit leaves a line with the last that its engine said', async (t) => {
  const { service, linesOf } = await startLogged()
  t.after(() => service.close())
  const { engines } = service
  const renderTimeout = async (spoil: (service: PipelineApp) => void) => {
    engines.conduct({ polls: 1e9 })
    const id = await service.submit()
    await service.drive(id, ({ status }) => status === 'in_progress')
    spoil(service)
    assert.equal((await service.drive(id)).error_code, 'render_timeout')
    engines.unscript()
    const logged = linesOf(id, 'render_timeout')
    assert.equal(logged.length, 1)
    return logged[0]
  }
  const running = await renderTimeout(() => {})
  assert.match(running.detail, /^At \d+ %, last heard of \d{4}-\S+Z\. The engine says: running\.$/)
  assert.equal(running.engine, 'videos-api')
  const hanging = { method: 'GET', path: /^\/v1\/videos\/[^/]+$/, times: 1e9 }
  const refused = await renderTimeout(() => engines.script({ ...hanging, fault: { kind: 'status', status: 503 } }))
  assert.equal(refused.code, 'transient')
  assert.match(refused.detail, /^At \d+ %, last heard of \S+ The engine does not say more\. .*503/)

  engines.script({ method: 'POST', path: '/v1/videos', times: 1e9, fault: { kind: 'status', status: 503 } })
  const id = await service.submit()
  assert.equal((await service.drive(id)).error_code, 'queue_timeout')
  const [queued] = linesOf(id, 'queue_timeout')
  assert.match(queued.detail, /^transient: .*503/)
})
