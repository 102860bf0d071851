import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { Db } from '../../../server/platform/db/db.ts'
import { findReferencedItems, loadContext, loadHistory } from '../../../server/responses/context/load.ts'
import type { Item, OutputItem } from '../../../server/responses/schema/items.ts'
import type { ResponseObject } from '../../../server/responses/schema/response.ts'
import { findResponse } from '../../../server/responses/stored/store/responses.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { assistantMessage, responseObject, storeChain, storeResponse, userMessage } from './stored-responses.ts'

const NEVER = new AbortController().signal

let app: TestApp
let person: TestPerson
let colleague: TestPerson
let outsider: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
  colleague = await newColleague(app, person.org_id)
  outsider = await newCustomer(app)
})
after(() => app.close())

const history = (id: string, caller = person) => loadHistory(app.ctx, caller, id)
const refused = (promise: Promise<unknown>, code: string, message: RegExp) =>
  assert.rejects(promise, (error: Error & { code: string }) => {
    assert.equal(error.code, code, error.message)
    assert.match(error.message, message)
    return true
  })
const textOf = (item: Item) =>
  item.type === 'message' ? item.content.map((part) => ('text' in part ? part.text : '')).join('') : item.type
const edit = (text: string, values: unknown[]) => app.database.pool.query(text, values)
/** How many queries an action on the database takes. */
const queries = async (action: (on: Pick<typeof app.ctx, 'db'>) => Promise<unknown>): Promise<number> => {
  let count = 0
  const db = app.ctx.db.withPlugin({
    transformQuery({ node }) {
      count += 1
      return node
    },
    transformResult: async ({ result }) => result,
  })
  await action({ db })
  return count
}

test('the context of a chain is the input and output of every response, oldest first', async () => {
  const chain = await storeChain(app, person, 3)
  const texts = (await history(chain[2]!.id)).map(textOf)
  assert.deepEqual(texts, ['question 0', 'answer 0', 'question 1', 'answer 1', 'question 2', 'answer 2'])
  assert.deepEqual((await history(chain[0]!.id)).map(textOf), ['question 0', 'answer 0'])
})

test('a chain of 100 responses is one query, as is a chain of one', async () => {
  const chain = await storeChain(app, person, 100)
  assert.equal((await history(chain[99]!.id)).length, 200)
  assert.equal(await queries((on) => loadHistory(on, person, chain[0]!.id)), 1)
  assert.equal(await queries((on) => loadHistory(on, person, chain[99]!.id)), 1)
})

test('stored items are returned byte for byte', async () => {
  const call = {
    id: 'fc_1',
    type: 'function_call',
    status: 'completed',
    call_id: 'c',
    name: 'f',
    arguments: '{"b":1, "a":"\\u0000 \\ud83d"}',
  } as const
  const odd = assistantMessage('\u0000 \u{1f600} \u007f \\u0000 “ ”')
  const { id } = await storeResponse(app, person, { output: [call, odd] }, [userMessage('é\n\t"\\')])
  const items = await history(id)
  assert.deepEqual(items.slice(1), [call, odd])
  assert.equal(JSON.stringify(items[1]), JSON.stringify(call), 'the order of members too')
  assert.equal(textOf(items[0]!), 'é\n\t"\\')
})

test('failed and cancelled responses contribute only completed items, incomplete ones all items', async () => {
  for (const status of ['failed', 'cancelled', 'incomplete'] as const) {
    const output = [assistantMessage('whole'), assistantMessage('cut', 'incomplete')]
    const { id } = await storeResponse(app, person, { status, completed_at: null, output })
    const texts = (await history(id)).map(textOf)
    assert.deepEqual(texts, status === 'incomplete' ? ['Hello', 'whole', 'cut'] : ['Hello', 'whole'])
  }
})

test('404 for a chain of another person, also in the same organization, as for one that does not exist', async () => {
  const { id } = await storeResponse(app, person)
  const never = responseObject().id
  for (const caller of [colleague, outsider]) {
    await refused(
      history(id, caller),
      'previous_response_not_found',
      new RegExp(`^Previous response with id '${id}' not found`),
    )
    await refused(
      history(never, caller),
      'previous_response_not_found',
      new RegExp(`^Previous response with id '${never}' not found`),
    )
  }
})

test('404 when an earlier response is missing or another person’s', async () => {
  const chain = await storeChain(app, person, 3)
  await edit('delete from responses where id = $1', [chain[0]!.id])
  await refused(history(chain[2]!.id), 'previous_response_not_found', /deleted or has expired/)
  const theirs = await storeResponse(app, colleague)
  const mine = await storeResponse(app, person, { previous_response_id: theirs.id })
  await refused(history(mine.id), 'previous_response_not_found', /deleted or has expired/)
})

test('400 for a cyclic chain, without an endless query', async () => {
  const chain = await storeChain(app, person, 3)
  await edit('update responses set previous_response_id = $2 where id = $1', [chain[0]!.id, chain[2]!.id])
  for (const { id } of chain) await refused(history(id), 'invalid_value', /continues from itself/)
  await edit('update responses set previous_response_id = id where id = $1', [chain[1]!.id])
  await refused(history(chain[1]!.id), 'invalid_value', /continues from itself/)
})

test('a chain is read up to its limits in responses and bytes', async () => {
  const chain = await storeChain(app, person, 4)
  const within = { links_max: 4, bytes_max: 1_000_000 }
  assert.equal((await loadHistory(app.ctx, person, chain[3]!.id, within)).length, 8)
  const long = loadHistory(app.ctx, person, chain[3]!.id, { ...within, links_max: 3 })
  await refused(long, 'context_length_exceeded', /longer than 3 responses/)
  const { rows } = await app.database.pool.query(
    'select sum(size_bytes)::int as bytes from responses where id = any($1)',
    [chain.map(({ id }) => id)],
  )
  const bytes = rows[0].bytes as number
  assert.equal((await loadHistory(app.ctx, person, chain[3]!.id, { ...within, bytes_max: bytes })).length, 8)
  const large = loadHistory(app.ctx, person, chain[3]!.id, { ...within, bytes_max: bytes - 1 })
  await refused(large, 'context_length_exceeded', new RegExp(`more than ${bytes - 1} bytes`))
})

test('references find input and output items of any response, the newest of each id, in one query', async () => {
  const first = userMessage('first', 'msg_mine')
  const { output } = await storeResponse(app, person, {}, [first])
  await storeResponse(app, person, {}, [userMessage('second', 'msg_mine')])
  const found = await findReferencedItems(app.ctx, person, ['msg_mine', output[0]!.id, 'msg_mine'])
  assert.deepEqual(
    [...found].map(([id, item]) => [id, textOf(item)]).sort(),
    [
      ['msg_mine', 'second'],
      [output[0]!.id, 'Hello there.'],
    ].sort(),
  )
  assert.equal(await queries((on) => findReferencedItems(on, person, ['msg_mine', output[0]!.id])), 1)
  assert.equal(await queries((on) => findReferencedItems(on, person, [])), 0)
})

test('404 for an item of another person, also in the same organization, as for one that does not exist', async () => {
  await storeResponse(app, person, {}, [userMessage('secret', 'msg_secret')])
  for (const caller of [colleague, outsider]) {
    for (const id of ['msg_secret', 'msg_never']) {
      await refused(
        findReferencedItems(app.ctx, caller, [id]),
        'item_not_found',
        new RegExp(`^Item with id '${id}' not found`),
      )
    }
  }
})

test('references are read up to a limit in bytes; an item counts each time it is referenced', async () => {
  await storeResponse(app, person, {}, [userMessage('a'.repeat(2000), 'msg_a'), userMessage('b'.repeat(2000), 'msg_b')])
  const both = ['msg_a', 'msg_b']
  assert.equal((await findReferencedItems(app.ctx, person, both, { bytes_max: 5000 })).size, 2)
  const beyond = /more than 3000 bytes/
  await refused(findReferencedItems(app.ctx, person, both, { bytes_max: 3000 }), 'context_length_exceeded', beyond)
  const load = (body: Parameters<typeof loadContext>[1]['body']) =>
    loadContext(app.ctx, { principal: person, body, lease: app.ctx.budget.open(person.org_id) }, NEVER)
  const entries = (ids: string[]) => ({ input: ids.map((id) => ({ type: 'item_reference' as const, id })) })
  assert.equal((await load(entries(both))).input.length, 2)
  await storeResponse(app, person, {}, [userMessage('c'.repeat(1_050_000), 'msg_large')])
  const lease = app.ctx.budget.open('references')
  await findReferencedItems(app.ctx, person, [...both, 'msg_large'], { bytes_max: 64_000_000, lease })
  const held = app.ctx.budget.held('references')
  assert.ok(held > 1_054_000 && held < 1_060_000, `${held} bytes`)
  lease.end()
  const often = load(entries(Array.from({ length: 10_000 }, () => 'msg_large')))
  await refused(often, 'context_length_exceeded', /more than 67108864 bytes/)
  const { id } = await storeResponse(app, person, {}, [userMessage('d'.repeat(1_000_000), 'msg_known')])
  const known = { ...entries(Array.from({ length: 100 }, () => 'msg_known')), previous_response_id: id }
  await refused(load(known), 'context_length_exceeded', /more than 67108864 bytes/)
})

test('references beyond the limit, and a response too large to return, are refused without reading their items', async () => {
  // Text that does not compress is stored beside its row.
  const items = Array.from({ length: 4 }, (_, n) => userMessage(randomBytes(300_000).toString('base64'), `msg_big${n}`))
  const { id } = await storeResponse(app, person, { output: items as unknown as OutputItem[] })
  const pagesBesideRows = async (work: (db: Db) => Promise<unknown>) =>
    await app.ctx.db.transaction().execute(async (tx) => {
      const fetched = async () => {
        const { rows } = await sql<{ pages: bigint }>`
          select pg_stat_get_xact_blocks_fetched(reltoastrelid) as pages from pg_class where relname = 'response_items'`.execute(
          tx,
        )
        return Number(rows[0]!.pages)
      }
      const before = await fetched()
      await work(tx)
      return (await fetched()) - before
    })
  const ids = ['msg_big0', 'msg_big1', 'msg_big2', 'msg_big3']
  const limits = { bytes_max: 1_000_000 }
  const references = (db: Db) =>
    refused(findReferencedItems({ db }, person, ids, limits), 'context_length_exceeded', /1000000/)
  assert.equal(await pagesBesideRows(references), 0)
  const whole = async (db: Db) => assert.equal((await findResponse(db, person, { id, ...limits }))!.body, null)
  assert.equal(await pagesBesideRows(whole), 0)
  assert.ok((await pagesBesideRows((db) => findReferencedItems({ db }, person, ids, { bytes_max: 2_000_000 }))) > 100)
})

test('an id used twice in one request is that of the later item, and both items are stored', async () => {
  const { id } = await storeResponse(app, person, {}, [
    userMessage('one', 'msg_twice'),
    userMessage('two', 'msg_twice'),
  ])
  const items = await history(id)
  assert.deepEqual(items.map(textOf), ['one', 'two', 'Hello there.'])
  assert.equal(new Set(items.map((item) => item.id)).size, 3)
  assert.equal(textOf((await findReferencedItems(app.ctx, person, ['msg_twice'])).get('msg_twice')!), 'two')
})

test('responses that are stored at the same time share one statement, each with its own items, byte for byte', async () => {
  const texts = Array.from({ length: 50 }, (_, i) => `${i} " \\ \n \u0000 \u2028 é 😀 \\u0041 {"a":[1,2]}`)
  let chains: ResponseObject[] = []
  const statements = await queries(async (on) => {
    const at = { ...app, ctx: { ...app.ctx, ...on } }
    chains = await Promise.all(
      texts.map((text) =>
        storeResponse(at, person, { output: [assistantMessage(text)] }, [userMessage(text), userMessage('b')]),
      ),
    )
  })
  assert.equal(statements, 1)
  for (const [i, { id }] of chains.entries())
    assert.deepEqual((await history(id)).map(textOf), [texts[i], 'b', texts[i]])
})

test('a long response has a statement of its own, and is stored as it is', async () => {
  const text = 'a long line 😀\n'.repeat(20_000)
  let stored: ResponseObject[] = []
  const statements = await queries(async (on) => {
    const at = { ...app, ctx: { ...app.ctx, ...on } }
    stored = await Promise.all([
      storeResponse(at, person, { output: [assistantMessage(text)] }, [userMessage(text)]),
      storeResponse(at, person),
      storeResponse(at, person),
    ])
  })
  assert.equal(statements, 2)
  const [long, short] = stored as [ResponseObject, ResponseObject]
  assert.deepEqual((await history(long.id)).map(textOf), [text, text])
  assert.equal((await history(short.id)).length, 2)
})

test('of responses that are stored together, one that cannot be stored fails alone', async () => {
  const taken = await storeResponse(app, person)
  const stored = await Promise.allSettled([
    storeResponse(app, person),
    storeResponse(app, person, { id: taken.id }),
    storeResponse(app, person),
  ])
  assert.deepEqual(
    stored.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  for (const each of stored) if (each.status === 'fulfilled') assert.equal((await history(each.value.id)).length, 2)
})
