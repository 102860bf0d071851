import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import type { RenderRequest } from '../../../../server/engines/video/contract.ts'
import { DIALECTS, live, startContentTasks, type TasksDialect } from './open.ts'

const { server, open, request, closeEngines } = await startContentTasks()
after(() => server.close())
afterEach(async () => {
  server.unscript()
  server.forget()
  server.conduct({ polls: 0, extra: {}, omit: [] })
  await closeEngines()
})

/** Of the renders since then, `others` are those of other jobs. */
const since = (date: Date, others: readonly string[] = []) => ({
  since: date,
  taken: async (keys: readonly string[]) => new Set(keys.filter((key) => others.some((id) => key.endsWith(`/${id}`)))),
})

const lose = async (dialect: TasksDialect, sent: RenderRequest) => {
  server.script({ method: 'POST', fault: { kind: 'lost_reply' } })
  await assert.rejects(open(dialect).start(sent, live()), { kind: 'transient', not_begun: false })
  return `video_${server.started()}`
}

test('a start whose answer was lost is found by its time, model and length, and what other jobs have is left out', async () => {
  for (const dialect of DIALECTS) {
    server.forget()
    const begun = new Date()
    const mine = request({ seconds: 9, seed: 41 })
    const id = await lose(dialect, mine)
    const recover = (sent = mine, options = since(begun)) => open(dialect).recover!(sent, options)
    assert.deepEqual(await recover(), { found: { id }, certain: dialect === 'ark' })
    for (const not of [{ seconds: 5 }, { model: 'MiniMax-H4' }])
      if (dialect === 'ark') assert.equal(await recover({ ...mine, ...not }), 'absent')
    assert.equal(await recover(mine, since(begun, [id])), 'absent', 'another job has it')
    assert.equal(await recover(mine, since(new Date(Date.now() + 60_000))), 'absent', 'it began later')
    assert.equal(await recover(mine, since(new Date(Date.now() - 3600_000), [id])), 'absent')
  }
})

test('minimax: a queued task shows neither model nor length, a running one does', async () => {
  const begun = since(new Date())
  server.conduct({ polls: 9 })
  const mine = request({ seconds: 9 })
  const id = await lose('minimax', mine)
  const recover = (sent: RenderRequest) => open('minimax').recover!(sent, begun)
  assert.deepEqual(await recover(request({ seconds: 5 })), { found: { id }, certain: false })
  await open('minimax').poll({ id }, live())
  for (const not of [{ seconds: 5 }, { model: 'MiniMax-H3-Max' }, { aspect_ratio: '1:1' as const }])
    assert.equal(await recover({ ...mine, ...not }), 'absent')
  assert.deepEqual(await recover(mine), { found: { id }, certain: false })
})

test('minimax: two tasks that match are several, and tasks of other types are none', async () => {
  const begun = since(new Date())
  const mine = request({ prompt: 'mine' })
  await lose('minimax', mine)
  const other = await lose('minimax', request({ prompt: 'another' }))
  assert.equal(await open('minimax').recover!(mine, begun), 'several')
  assert.notEqual(await open('minimax').recover!(mine, since(begun.since, [other])), 'several')
  server.forget()
  server.conduct({ extra: { task_type: 'h3_context_ir' } })
  await lose('minimax', mine)
  assert.notEqual(typeof (await open('minimax').recover!(mine, begun)), 'object')
})

test('ark: the seed distinguishes equal requests; where no seed is shown, two of them are several', async () => {
  const begun = since(new Date())
  const mine = request({ seed: 41 })
  const id = await lose('ark', mine)
  await lose('ark', { ...mine, seed: 42 })
  assert.deepEqual(await open('ark').recover!(mine, begun), { found: { id }, certain: true })
  assert.equal(await open('ark').recover!({ ...mine, seed: 43 }, begun), 'absent')
  server.forget()
  server.conduct({ omit: ['seed'] })
  const bare = await lose('ark', mine)
  assert.deepEqual(await open('ark').recover!(mine, begun), { found: { id: bare }, certain: false })
  await lose('ark', mine)
  assert.equal(await open('ark').recover!(mine, begun), 'several')
})

test('ark: a task of an inference endpoint is listed by the name of its model', async () => {
  const begun = since(new Date())
  server.conduct({ extra: { model: 'doubao-seedance-2-0' } })
  const mine = request({ model: 'ep-20261123', seed: 5 })
  const id = await lose('ark', mine)
  assert.deepEqual(await open('ark').recover!(mine, begun), { found: { id }, certain: true })
  assert.equal(await open('ark').recover!({ ...mine, model: 'other' }, begun), 'absent')
})

test('the process that started a render finds it again for the same attempt, and for no other', async () => {
  for (const dialect of DIALECTS) {
    server.forget()
    const begun = since(new Date())
    const engine = open(dialect)
    const mine = request()
    const found = await engine.start(mine, live())
    assert.deepEqual(await engine.recover!(mine, begun), { found, certain: true })
    assert.equal(await engine.recover!({ ...mine, attempt_id: 'att_another' }, begun), 'absent')
  }
})

test('a render is found on any page of the list; a list that cannot be read says nothing', async () => {
  for (const dialect of DIALECTS) {
    server.forget()
    const begun = new Date()
    const mine = request({ seconds: 9, seed: 41 })
    const id = await lose(dialect, mine)
    const others: string[] = []
    const engine = open(dialect)
    for (let i = 0; i < 50; i++) {
      const ticket = await engine.start(request({ seconds: 5, seed: 100 + i }), live())
      others.push((ticket as { id: string }).id)
    }
    const before = server.requests.length
    assert.deepEqual(await open(dialect).recover!(mine, since(begun, others)), {
      found: { id },
      certain: dialect === 'ark',
    })
    const pages = server.requests.slice(before).map(({ path }) => path.split('?')[1])
    assert.deepEqual(
      pages,
      [1, 2, 3].map((page) => `page_num=${page}&page_size=20`),
    )
    for (const body of [{}, { items: 'none' }, { items: [{}], total: 1 }]) {
      server.script({ method: 'GET', fault: { kind: 'status', status: 200, body } })
      assert.equal(await open(dialect).recover!(mine, since(begun)), 'unknown')
    }
    server.script({ method: 'GET', fault: { kind: 'status', status: 500 } })
    await assert.rejects(open(dialect).recover!(mine, since(begun)), { kind: 'transient' })
  }
})

test('starts that the list could not distinguish have one key: all of an account', () => {
  for (const dialect of DIALECTS) {
    const key = (more: Partial<RenderRequest>) => open(dialect).listKey!(request(more))
    assert.equal(key({ prompt: 'a', seconds: 5, model: 'a' }), key({ prompt: 'b', seconds: 6, model: 'b' }))
    assert.notEqual(key({}), open(dialect, { path_prefix: '/other' }).listKey!(request()))
    const [own, same] = [open(dialect), open(dialect, { base_url: `${server.url}/` })]
    assert.equal(own.renderKey!({ id: 'x' }), same.renderKey!({ id: 'x' }))
  }
})
