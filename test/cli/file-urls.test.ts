import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { describeUnreachable } from '../../server/cli/start-warnings.ts'
import { loadConfig } from '../../server/config/load.ts'
import { buildEngines, engineMistakes } from '../../server/engines/registry.ts'

const LOOPBACK = 'http://127.0.0.1:8080'

/** What a start warns of with these engines, by the name of their model. */
async function warningOf(engines: { video?: string; chat?: string }, engine_url = LOOPBACK): Promise<string | null> {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-reach-'))
  const path = join(dir, 'kinora.yaml')
  const { video = 'storyboard', chat = 'sandbox, capabilities: [vision]' } = engines
  writeFileSync(
    path,
    `video_models: [{ id: clips, engine: ${video}, per_second: "0.01" }]
chat_models: [{ id: talks, engine: ${chat}, price_per_million: { input: "1", output: "1" } }]`,
  )
  const config = loadConfig({ config: path }, {}, engineMistakes)
  const built = buildEngines(config, { work_dir: dir })
  const text = describeUnreachable({ config, engines: built, site: { public_url: engine_url, engine_url } })
  await built.close()
  rmSync(dir, { recursive: true, force: true })
  return text
}

const video = (dialect: string, url: string, more = '') =>
  `{ kind: videos-api, dialect: ${dialect}, base_url: "${url}"${more} }`
const chat = (more: string, capabilities = 'vision') => `{ kind: openai, ${more} }, capabilities: [${capabilities}]`

test('a start names every outside engine that would be handed a loopback URL, with where it is and the remedy', async () => {
  const text = await warningOf({
    video: video('sglang', 'http://127.0.0.1:3000', ', references_base_url: "http://10.0.0.6:3001/v1"'),
    chat: chat('endpoints: [{ base_url: "http://llm.internal:8000" }, { base_url: "http://localhost:8000" }]'),
  })
  assert.match(text!, /clips \(http:\/\/10\.0\.0\.6:3001\/v1\); talks \(http:\/\/llm\.internal:8000\)/)
  assert.match(text!, /Set engine_url .* input_transport: data .* inputs: data/)
  assert.doesNotMatch(text!, /localhost/)
  for (const loopback of ['http://localhost:80', 'http://[::1]:80', 'http://127.9.9.9', 'http://0.0.0.0:80'])
    assert.notEqual(await warningOf({ video: video('openrouter', 'https://openrouter.ai/api') }, loopback), null)
})

test('no warning for engines on this machine, for those that get bytes or no files, or when engine_url is set', async () => {
  const outside = 'http://10.0.0.6:3000'
  assert.equal(await warningOf({}), null)
  for (const each of [
    { video: video('sglang', 'http://localhost:3000') },
    { video: video('sglang', outside, ', input_transport: data') },
    { video: video('vllm-omni', outside) },
    { video: video('sglang', outside, ', inputs: []') },
    { chat: chat(`base_url: "${outside}", inputs: data`) },
    { chat: chat(`base_url: "${outside}"`, 'tools') },
  ])
    assert.equal(await warningOf(each), null, JSON.stringify(each))
  assert.equal(await warningOf({ video: video('sglang', outside) }, 'http://kinora.internal:8080'), null)
})
