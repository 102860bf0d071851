import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { picture } from '../../../../server/engines/check/video/request.ts'
import type { RenderRequest } from '../../../../server/engines/video/contract.ts'
import { live, since, startVideosApi } from './open.ts'

const { server, open, request, closeEngines } = await startVideosApi()
after(() => server.close())
afterEach(closeEngines)

/** Starts a render whose answer is lost on the way. */
const lose = async (sent: RenderRequest, engine = open('openai')) => {
  server.script({ method: 'POST', fault: { kind: 'lost_reply' } })
  await assert.rejects(engine.start(sent, live()), { kind: 'transient', not_begun: false })
  return engine
}

test('a start whose answer was lost is found again by its prompt, and what other jobs have is left out', async () => {
  server.forget()
  const begun = since(new Date())
  const before = server.started()
  const mine = request({ prompt: 'unlike any other' })
  const engine = await lose(mine)
  await engine.start(request({ prompt: 'another job' }), live())
  const found = { id: `video_${before + 1}`, where: 'base' }
  assert.deepEqual(await engine.recover!(mine, begun), { found, certain: false })
  assert.equal((await engine.poll(found, live())).state, 'succeeded')
  assert.deepEqual(
    await engine.recover!(mine, begun),
    { found, certain: false },
    'the same attempt has the same render',
  )
  const other = { ...mine, attempt_id: 'att_another' }
  assert.equal(
    await engine.recover!(other, begun),
    'absent',
    'a render that has a ticket is not handed to another attempt',
  )

  const fresh = () => open('openai')
  assert.equal(await fresh().recover!(mine, since(begun.since, [found.id])), 'absent', 'another job has it')
  for (const not of [{ prompt: 'never sent' }, { seconds: 5 }, { model: 'H4' }])
    assert.equal(await fresh().recover!({ ...mine, ...not }, begun), 'absent')
  assert.equal(await fresh().recover!(mine, since(new Date(Date.now() + 60_000))), 'absent')
  await lose(mine)
  assert.equal(await fresh().recover!(mine, begun), 'several')
  const twin = { id: `video_${server.started()}`, where: 'base' }
  assert.deepEqual(await fresh().recover!(mine, since(begun.since, [found.id])), { found: twin, certain: false })
})

test('a list that shows seeds identifies the render of an attempt; one without prompts and seeds leaves it unknown', async () => {
  server.forget()
  const begun = since(new Date())
  const mine = request({ prompt: 'marked', seed: 99 }, [await picture('first_frame')])
  server.conduct({ extra: { seed: 98 } })
  await lose(mine)
  assert.equal(
    await open('openai').recover!(mine, begun),
    'absent',
    'the same prompt with another seed is another render',
  )
  server.conduct({ omit: ['prompt'], extra: { seed: 99 } })
  await lose(mine)
  assert.deepEqual(await open('openai').recover!(mine, begun), {
    found: { id: `video_${server.started()}`, where: 'base' },
    certain: true,
  })
  server.conduct({ extra: {} })
  await lose(request({ prompt: 'unmarked' }))
  assert.equal(await open('openai').recover!(request({ prompt: 'unmarked' }), begun), 'unknown')
  server.conduct({ omit: [] })
})

test('a render is found on any page of the list', async () => {
  server.forget()
  const begun = since(new Date())
  const mine = request({ prompt: 'the first of many' })
  await lose(mine)
  const id = `video_${server.started()}`
  const engine = open('openai')
  for (let i = 0; i < 230; i++) await engine.start(request({ prompt: `number ${i}` }), live())
  assert.deepEqual(await open('openai').recover!(mine, begun), { found: { id, where: 'base' }, certain: false })
})
