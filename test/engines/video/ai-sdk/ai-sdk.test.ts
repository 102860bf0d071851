import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { picture, requestFor } from '../../../../server/engines/check/video/request.ts'
import type { VideoEngine } from '../../../../server/engines/video/contract.ts'
import { beside, changed } from '../../../support/upstream/engine-server/misbehavior.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { live, minimax, veo } from './open.ts'

const server = await startEngineServer()
after(() => server.close())

const VEO = 'veo-3.1-generate-preview'
const using = async (engine: VideoEngine, body: (engine: VideoEngine) => Promise<void>) => {
  try {
    await body(engine)
  } finally {
    server.conduct({ polls: 0, status: null, error: null })
    await engine.close?.()
  }
}

test('a render reaches the provider in its own words: prompt, length, ratio, resolution, frames', () =>
  using(
    veo(server.url, { resolution: '1280x720', provider_options: { google: { negativePrompt: 'rain' } } }),
    async (engine) => {
      const frames = [await picture('first_frame'), await picture('last_frame')]
      await engine.start({ ...requestFor(engine, VEO, frames), prompt: 'A boat. <d>はい</d>' }, live())
      const { path, headers, json } = server.requests.at(-1)!
      assert.equal(path, `/v1beta/models/${VEO}:predictLongRunning`)
      assert.equal(headers['x-goog-api-key'], 'secret-key')
      const { instances, parameters } = json as { instances: Array<Record<string, unknown>>; parameters: object }
      assert.equal(instances[0]!.prompt, 'A boat. <d>はい</d>')
      for (const frame of ['image', 'lastFrame'])
        assert.match((instances[0]![frame] as { bytesBase64Encoded: string }).bytesBase64Encoded, /^iVBORw0K/)
      assert.deepEqual(parameters, {
        sampleCount: 1,
        aspectRatio: '16:9',
        resolution: '720p',
        durationSeconds: 4,
        negativePrompt: 'rain',
      })
    },
  ))

test('a warning of the package is a rejection: nothing is dropped in silence', () =>
  using(veo(server.url, { input_transport: 'url' }), async (engine) => {
    const frame = await picture('first_frame')
    await assert.rejects(engine.start(requestFor(engine, VEO, [frame]), live()), (error: Error & { kind?: string }) => {
      assert.equal(error.kind, 'rejected')
      assert.match(error.message, /URL-based image input/)
      return true
    })
  }))

test('files are handed over as signed URLs where the entry says so, and without `inputs` not at all', async () => {
  await using(minimax(server.url, { input_transport: 'url', signed_url_ttl_seconds: 600 }), async (engine) => {
    await engine.start(requestFor(engine, 'MiniMax-H3', [await picture('reference_image')]), live())
    assert.match(JSON.stringify(server.requests.at(-1)!.json), /"https:\/\/kinora\.example\/files\/file_1\?ttl=600"/)
  })
  await using(veo(server.url, { inputs: [] }), async (engine) => {
    assert.deepEqual([...engine.capabilities(VEO).modes], ['text'])
    const before = server.requests.length
    await assert.rejects(engine.start(requestFor(engine, VEO, [await picture('first_frame')]), live()), {
      kind: 'rejected',
    })
    assert.equal(server.requests.length, before)
  })
})

test('files too large to be held in memory are rejected before anything is sent', () =>
  using(veo(server.url), async (engine) => {
    const large = { ...(await picture('first_frame')), size_bytes: 49 * 1024 * 1024 }
    await assert.rejects(engine.start(requestFor(engine, VEO, [large]), live()), {
      kind: 'rejected',
      subject: 'reference_media',
    })
  }))

test('neither ticket nor output holds the credential, which the clip of Veo is fetched with', () =>
  using(veo(server.url), async (engine) => {
    const ticket = await engine.start(requestFor(engine, VEO), live())
    const state = await engine.poll(ticket, live())
    assert.ok(state.state === 'succeeded')
    assert.doesNotMatch(JSON.stringify([ticket, state]), /secret-key/)
    const clip = Buffer.from(await new Response(await engine.fetch(ticket, state.output, live())).arrayBuffer())
    assert.equal(clip.toString('latin1', 4, 8), 'ftyp')
  }))

test('what a provider says of a failed render is read for its kind, and not kept', () =>
  using(veo(server.url), async (engine) => {
    const end = async (message: string) => {
      server.conduct({ status: 'failed', error: { code: 3, message } })
      const state = await engine.poll(await engine.start(requestFor(engine, VEO), live()), live())
      assert.ok(state.state === 'failed')
      assert.doesNotMatch(JSON.stringify(state), /leak-marker/)
      return state.error.kind
    }
    assert.equal(await end('Blocked by our safety filters: leak-marker'), 'moderation')
    assert.equal(await end('Internal error, try again'), 'transient')
    assert.equal(await end('leak-marker'), 'rejected')
  }))

test('a finished operation with nothing in it ends at once; filter counts and texts alone say that it was blocked', () =>
  using(veo(server.url), async (engine) => {
    const end = async (response: object) => {
      const ticket = await engine.start(requestFor(engine, VEO), live())
      server.script({ method: 'GET', path: /\/operations\//, fault: beside({ response }) })
      const state = await engine.poll(ticket, live())
      return state.state === 'failed' ? state.error.kind : state.state
    }
    const counts = { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['leak-marker'] }
    assert.equal(await end({ generateVideoResponse: counts }), 'moderation')
    assert.equal(
      await end({ generateVideoResponse: { generatedSamples: [], raiMediaFilteredCount: '1' } }),
      'moderation',
    )
    assert.equal(await end({}), 'permanent')
    assert.equal(await end({ generateVideoResponse: { generatedSamples: [{ video: {} }] } }), 'permanent')
  }))

test('ids that a provider writes as numbers are text for its package', () =>
  using(minimax(server.url), async (engine) => {
    server.conduct({ id_prefix: '298375023910' })
    server.script({ method: 'POST', fault: changed(({ task_id }) => ({ task_id: Number(task_id) })) })
    const ticket = await engine.start(requestFor(engine, 'MiniMax-H3'), live())
    assert.equal((await engine.poll(ticket, live())).state, 'succeeded')
    server.conduct({ id_prefix: 'video_' })
  }))

test('a start whose answer names the render by more than a ticket can hold is one of unknown outcome', () =>
  using(veo(server.url), async (engine) => {
    const body = { name: `models/veo/operations/${'x'.repeat(10_000)}` }
    server.script({ method: 'POST', fault: { kind: 'status', status: 200, body } })
    await assert.rejects(engine.start(requestFor(engine, VEO), live()), { kind: 'transient', not_begun: false })
  }))

test('a package without video models, or not installed, is refused at the start with what to do', () => {
  assert.throws(() => veo(server.url, { package: '@ai-sdk/anthropic' }), /no video models/)
  assert.throws(() => veo(server.url, { package: '@ai-sdk/bytedance' }), /within one call|v3 of the AI SDK/)
  assert.throws(
    () => veo(server.url, { package: '@ai-sdk/none-such' }),
    /video_models: .*npm install @ai-sdk\/none-such/,
  )
})
