import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../server/platform/log.ts'
import { MODEL, startPipelineApp } from './pipeline-app.ts'

test('a start that fails names the engine and its address in the log, without its credential and query', async () => {
  const lines: string[] = []
  const log = openLog('debug', { write: (line) => void lines.push(line) })
  const model =
    '{ kind: videos-api, dialect: openai, base_url: "http://127.0.0.1:1/gpu/", api_key: canary, model: wan }'
  const service = await startPipelineApp({ model }, { log })
  try {
    const id = await service.submit({ model: MODEL })
    await service.drive(id, ({ tries }) => tries > 0)
    const failed = lines.map((line) => JSON.parse(line)).filter(({ event, msg }) => (event ?? msg) === 'start_failed')
    assert.ok(failed.length > 0, lines.join(''))
    for (const { video_id, engine, url } of failed) {
      assert.deepEqual([video_id, engine, url], [id, 'videos-api', 'http://127.0.0.1:1/gpu'])
    }
    assert.ok(!lines.join('').includes('canary'))
  } finally {
    await service.close()
  }
})
