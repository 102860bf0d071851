import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { loadConfig } from '../../server/config/load.ts'
import { engineMistakes } from '../../server/engines/registry.ts'
import { send } from '../support/http/send.ts'
import { type EngineServer, startEngineServer } from '../support/upstream/engine-server/server.ts'
import { MODEL, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

let service: PipelineApp
let other: EngineServer
before(async () => {
  service = await startPipelineApp()
  other = await startEngineServer()
  other.setClock(() => service.app.clock.now().getTime())
  // Renders take some polls, so that a reload finds them under way.
  for (const server of [service.engines, other]) server.conduct({ polls: 3 })
})
after(async () => {
  await service.close()
  await other.close()
})
afterEach(async () => assert.deepEqual(await service.app.audit(), {}))

/** Has the model rendered at `url`; without one, the service no longer has the model. */
function reload(url: string | null, id = MODEL): void {
  const engine = `{ kind: videos-api, dialect: openai, base_url: "${url}", model: wan }`
  const models = url === null ? '{ id: another-1, engine: instant' : `{ id: ${id}, engine: ${engine}`
  const { app, dir, ctx } = service.app
  const path = join(dir, 'kinora.yaml')
  writeFileSync(
    path,
    `plans: { free: { max_concurrent_renders: 1000 } }\nvideo_models: [${models}, per_second: "0.010000" }]\n`,
  )
  app.reload({ config: loadConfig({ config: path, data_dir: dir }, {}, engineMistakes), secret: ctx.secret })
}

const rendering = (id: string) => service.drive(id, ({ status }) => status === 'in_progress')
const former = () => service.app.ctx.engines.former?.length

test('a render ends on the engine it began on when a reload moves the model to another, which then closes', async () => {
  const id = await service.submit()
  await rendering(id)
  const begun = service.engines.started()
  reload(other.url)
  await service.app.app.closeFormerEngines()
  assert.equal(former(), 1)
  assert.equal((await service.drive(id)).status, 'completed')
  assert.deepEqual([service.engines.started(), other.started()], [begun, 0])
  await service.app.app.closeFormerEngines()
  assert.equal(former(), 0)

  assert.equal((await service.drive(await service.submit())).status, 'completed')
  assert.deepEqual([service.engines.started(), other.started()], [begun, 1])
})

test('two looks at former engines at once close no engine that a render still needs', async () => {
  reload(service.engines.url)
  const id = await service.submit()
  await rendering(id)
  await service.app.app.closeFormerEngines()
  reload(other.url)
  reload(service.engines.url)
  assert.equal(former(), 2)
  await Promise.all([service.app.app.closeFormerEngines(), service.app.app.closeFormerEngines()])
  assert.equal(former(), 1)
  assert.equal((await service.drive(id)).status, 'completed')
  await service.app.app.closeFormerEngines()
  assert.equal(former(), 0)
})

test('a job accepted before its model was removed is rendered; a later one is refused', async () => {
  reload(other.url)
  const [waiting, begun] = [await service.submit(), await service.submit()]
  await rendering(begun)
  reload(null)
  const refused = await send(
    service.app,
    'POST',
    '/v1/videos',
    { key: service.customer.key },
    { model: MODEL, prompt: 'A boat', seconds: 4, aspect_ratio: '16:9' },
  )
  assert.equal(refused.body.error.code, 'model_not_found')
  for (const id of [waiting, begun]) assert.equal((await service.drive(id)).status, 'completed')
  await service.app.app.closeFormerEngines()
  assert.equal(former(), 0)
})
