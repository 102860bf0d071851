import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { send } from '../../support/http/send.ts'
import { submit } from '../../support/http/videos-app.ts'
import { startTwoNodes, type TwoNodes } from './two-nodes.ts'

let nodes: TwoNodes
before(async () => {
  nodes = await startTwoNodes()
  // As over a network that delivers announcements late: only what is asked of the database counts.
  nodes.b.ctx.changes.announce = nodes.a.ctx.changes.announce = () => {}
})
after(() => nodes.close())

/** A job that the second node has been polled for. */
async function polledJob(): Promise<string> {
  const { b, customer } = nodes
  const { id } = (await submit(nodes.a, customer)).body
  assert.equal((await send(b, 'GET', `/v1/videos/${id}`, customer)).body.status, 'moderating')
  return id
}

test('a job that is completed on one node is so on the other, and its content is there', async () => {
  const { a, b, customer } = nodes
  const id = await polledJob()
  await a.tick()
  assert.equal((await send(a, 'GET', `/v1/videos/${id}`, customer)).body.status, 'completed')
  const content = await fetch(`${b.url}/v1/videos/${id}/content`, {
    headers: { authorization: `Bearer ${customer.key}` },
  })
  assert.equal(content.status, 200)
  await content.arrayBuffer()
  assert.equal((await send(b, 'GET', `/v1/videos/${id}`, customer)).body.status, 'completed')
})

test('a job that was canceled on one node is canceled on the other, and one that was deleted is gone', async () => {
  const { a, b, customer } = nodes
  const id = await polledJob()
  assert.equal((await send(a, 'POST', `/v1/videos/${id}/cancel`, customer)).body.status, 'canceled')
  assert.equal((await send(b, 'GET', `/v1/videos/${id}`, customer)).body.status, 'canceled')
  assert.equal((await send(a, 'DELETE', `/v1/videos/${id}`, customer)).status, 200)
  assert.equal((await send(b, 'GET', `/v1/videos/${id}`, customer)).status, 404)
})

test('polls that arrive together share statements, and each gets its own job', async () => {
  const { b, customer } = nodes
  const ids = await Promise.all(Array.from({ length: 20 }, polledJob))
  let statements = 0
  b.ctx.groups = counted(b.ctx.groups, () => statements++)
  const answers = await Promise.all(ids.map((id) => send(b, 'GET', `/v1/videos/${id}`, customer)))
  assert.deepEqual(
    answers.map(({ body }) => body.id),
    ids,
  )
  assert.ok(statements < ids.length, `${statements} statements`)
})

function counted(groups: TwoNodes['b']['ctx']['groups'], count: () => void): typeof groups {
  return {
    join: (name, item, write) =>
      groups.join(name, item, (items) => {
        count()
        return write(items)
      }),
  }
}
