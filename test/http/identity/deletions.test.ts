import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { type Caller, send } from '../../support/http/send.ts'
import { assertRefused, storedFile, submit } from '../../support/http/videos-app.ts'

let app: TestApp
let owner: TestPerson
let admin: TestPerson
let member: TestPerson
before(async () => {
  app = await startApp()
  owner = await newCustomer(app)
  admin = await newColleague(app, owner.org_id, { role: 'admin' })
  member = await newColleague(app, owner.org_id)
})
after(() => app.close())
afterEach(async () => assert.deepEqual(await app.audit(), {}))

const PROMPT = 'A secret dragon over the lake'
const DENIED = {
  status: 403,
  code: 'permission_denied',
  type: 'permission_error',
  message: /made it, or an owner or admin/,
}

const key = (person: TestPerson): Caller => ({ key: person.key })
const browser = (person: TestPerson): Caller => ({ cookie: person.cookie })
const remove = (path: string, caller: Caller) => send(app, 'DELETE', path, caller)
const entriesOf = async (person: TestPerson) => (await send(app, 'GET', '/console/activity', browser(person))).body.data
const setDelete = (person: TestPerson, members_delete: string) =>
  send(app, 'PATCH', '/console/organization', browser(person), { members_delete })

/** Paths of a video that has ended and of a file, both made by this person. */
async function thingsOf(person: TestPerson): Promise<string[]> {
  const { id } = (await submit(app, key(person), { prompt: PROMPT })).body
  await send(app, 'POST', `/v1/videos/${id}/cancel`, key(person))
  return [`/v1/videos/${id}`, `/v1/files/${await storedFile(app, person)}`]
}

test('every deletion is in the activity log with who, by which key, what and whose, and never with a prompt', async () => {
  const [video, file] = (await thingsOf(member)) as [string, string]
  const { filename } = (await send(app, 'GET', file, key(member))).body
  assert.equal((await remove(video, browser(owner))).status, 200)
  assert.equal((await remove(file, key(member))).status, 200)
  const entries = await entriesOf(owner)
  const [ofFile, ofVideo] = entries
  const name = `instant-1, 4 s, ${app.clock.now().toISOString().slice(0, 16).replace('T', ' ')} UTC`
  assert.deepEqual(
    [ofVideo.action, ofVideo.target, ofVideo.actor.email, ofVideo.actor.key_hint, ofVideo.details],
    ['video.delete', video.split('/').at(-1), owner.email, null, { name, made_by: member.email }],
  )
  assert.deepEqual(
    [ofFile.action, ofFile.target, ofFile.actor.email, ofFile.details],
    ['file.delete', file.split('/').at(-1), member.email, { name: filename }],
  )
  assert.equal(typeof ofFile.actor.key_hint, 'string')
  assert.ok(!JSON.stringify(entries).includes('dragon'))
})

test('a deletion that is refused, or of what is gone, leaves no entry', async () => {
  const running = (await submit(app, key(member))).body.id
  const before = (await entriesOf(owner)).length
  assertRefused(await remove(`/v1/videos/${running}`, key(member)), { status: 409, code: 'conflict' })
  for (const path of [`/v1/videos/video_${'0'.repeat(26)}`, `/v1/files/file-${'0'.repeat(26)}`])
    assert.equal((await remove(path, key(member))).status, 404)
  assert.equal((await entriesOf(owner)).length, before)
})

test('members delete what others have made until their organization says `own`, by API key and console alike', async () => {
  assert.deepEqual((await send(app, 'GET', '/console/organization', browser(member))).body, {
    id: owner.org_id,
    object: 'organization',
    members_delete: 'all',
  })
  for (const path of await thingsOf(owner)) assert.equal((await remove(path, key(member))).status, 200)
  assert.equal((await setDelete(admin, 'own')).body.members_delete, 'own')
  const foreign = await thingsOf(owner)
  for (const path of foreign) {
    for (const caller of [key(member), browser(member)]) assertRefused(await remove(path, caller), DENIED)
    assert.equal((await send(app, 'GET', path, key(member))).status, 200, 'a refused deletion deletes nothing')
    assert.equal((await remove(path, key(admin))).status, 200)
  }
  for (const path of await thingsOf(member)) assert.equal((await remove(path, key(member))).status, 200)
  for (const path of await thingsOf(admin)) assert.equal((await remove(path, key(owner))).status, 200)
  assert.equal((await setDelete(owner, 'all')).status, 200)
  for (const path of await thingsOf(owner)) assert.equal((await remove(path, browser(member))).status, 200)
})

test('only owners and admins change the setting, and each change is in the activity log once', async () => {
  assertRefused(await setDelete(member, 'own'), { ...DENIED, message: /Only owners and admins/ })
  assertRefused(await setDelete(owner, 'none'), { status: 400, code: 'invalid_value', param: 'members_delete' })
  for (const members_delete of ['own', 'own', 'all']) await setDelete(owner, members_delete)
  const [second, first, earlier] = await entriesOf(owner)
  const changed = { action: 'organization.members_delete', target: owner.org_id }
  assert.deepEqual(
    [second, first].map(({ action, target, details }) => ({ action, target, details })),
    [
      { ...changed, details: { from: 'own', to: 'all' } },
      { ...changed, details: { from: 'all', to: 'own' } },
    ],
  )
  assert.notDeepEqual(earlier.details, first.details)
})

test('the setting of one organization says nothing to another', async () => {
  const other = await newCustomer(app)
  const colleague = await newColleague(app, other.org_id)
  await setDelete(owner, 'own')
  for (const path of await thingsOf(other)) assert.equal((await remove(path, key(colleague))).status, 200)
  await setDelete(owner, 'all')
})

test('an entry of a deletion counts as stored, so that uploading and deleting in a loop fills no disk', async () => {
  const person = await newCustomer(app)
  const stored = async () => (await send(app, 'GET', '/console/usage', browser(person))).body.storage
  for (let turn = 0; turn < 3; turn += 1) await remove(`/v1/files/${await storedFile(app, person)}`, key(person))
  const { files, records } = await stored()
  assert.deepEqual({ files, records }, { files: 0, records: 3 * 1024 })
})

test('everybody in an organization sees who made its videos and files, and nobody sees more', async () => {
  const paths = await thingsOf(owner)
  const ids = paths.map((path) => path.split('/').at(-1)!)
  const makers = (person: TestPerson) => send(app, 'GET', `/console/makers?ids=${ids},video_none`, browser(person))
  assert.deepEqual((await makers(member)).body, {
    object: 'list',
    data: ids.map((id) => ({ id, object: 'maker', user_id: owner.user_id, name: 'owner' })),
  })
  assert.deepEqual((await makers(await newCustomer(app))).body.data, [])
  const many = await send(
    app,
    'GET',
    `/console/makers?ids=${Array.from({ length: 201 }, (_, n) => n)}`,
    browser(member),
  )
  assertRefused(many, { status: 400, code: 'invalid_value', param: 'ids' })
})
