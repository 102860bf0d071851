import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { newId } from '../../server/platform/ids.ts'
import type { Person } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'
import { law } from '../support/law.ts'
import { newPayer, type ScriptedApp, startScriptedApp } from './scripted-app.ts'

let app: ScriptedApp
before(async () => {
  app = await startScriptedApp({ slots: 1000 })
})
after(() => app.close())

const STAYING = 60
const PASSING = 40
const ROUNDS = Number(process.env.ROUNDS ?? 4)

/** A job that has ended, written straight into the table. */
async function insert(person: Person): Promise<string> {
  const now = app.clock.now()
  const id = newId('video', now)
  await app.database.pool.query(
    `insert into video_jobs (id, org_id, user_id, request_id, model, prompt, seconds, aspect_ratio, inputs, per_second, cost, currency,
       created_at, next_run_at, status, finished_at)
     values ($1, $2, $3, 'req', 'outside-1', 'p', 4, '16:9', '[]', 1, 4, 'usd', $4, $4, 'canceled', $4)`,
    [id, person.org_id, person.user_id, now],
  )
  return id
}

async function pages(person: Person, order: string, limit: number): Promise<string[]> {
  const seen: string[] = []
  let after = ''
  for (;;) {
    const { status, body } = await send(app, 'GET', `/v1/videos?limit=${limit}&order=${order}${after}`, person)
    assert.equal(status, 200)
    const ids = body.data.map(({ id }: { id: string }) => id)
    assert.deepEqual([body.first_id, body.last_id], [ids[0] ?? null, ids.at(-1) ?? null])
    assert.ok(ids.length === limit || !body.has_more)
    seen.push(...ids)
    if (!body.has_more) return seen
    after = `&after=${body.last_id}`
  }
}

law(
  'under parallel inserts and deletes every job that stays is listed once, in order, and none of another organization',
  async (seed) => {
    let state = seed
    const random = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31
      return state % below
    }
    for (let round = 0; round < ROUNDS; round++) {
      const [person, other] = [await newPayer(app, 0n), await newPayer(app, 0n)]
      const staying: string[] = []
      const passing: string[] = []
      for (let i = 0; i < STAYING + PASSING; i++) {
        if (random(3) === 0) app.clock.advance(0.001)
        const list = i % 5 < 3 ? staying : passing
        list.push(await insert(person))
        if (i % 10 === 0) await insert(other)
      }
      let over = false
      const inserting = (async () => {
        for (let i = 0; i < 200 && !over; i++) {
          app.clock.advance(0.001)
          await insert(i % 3 === 0 ? other : person)
        }
      })()
      const deleting = (async () => {
        for (const id of passing.sort(() => random(3) - 1)) {
          if (!over) await send(app, 'DELETE', `/v1/videos/${id}`, person)
        }
      })()
      const walks = ['desc', 'asc', 'desc', 'asc'].map(async (order) => ({
        order,
        seen: await pages(person, order, 1 + random(20)),
      }))
      for (const { order, seen } of await Promise.all(walks)) {
        assert.equal(new Set(seen).size, seen.length, 'no job twice')
        assert.deepEqual(
          seen,
          [...seen].sort((a, b) => (a < b ? -1 : 1) * (order === 'asc' ? 1 : -1)),
          'in order',
        )
        const listed = new Set(seen)
        assert.deepEqual(
          staying.filter((id) => !listed.has(id)),
          [],
          'no job missed',
        )
      }
      over = true
      await Promise.all([inserting, deleting])
      const { rows } = await app.database.pool.query('select id from video_jobs where org_id = $1 order by id', [
        person.org_id,
      ])
      assert.deepEqual(
        await pages(person, 'asc', 7),
        rows.map(({ id }) => id),
      )
    }
  },
)
