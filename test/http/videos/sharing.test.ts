import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { assertRefused, submit } from '../../support/http/videos-app.ts'
import { DAY, shareLinks, withSharing } from './share-links.ts'

let app: TestApp
let owner: TestPerson
let admin: TestPerson
let member: TestPerson
let rival: TestPerson
before(async () => {
  app = await startApp({ config: withSharing('enabled: true') })
  owner = await newCustomer(app)
  admin = await newColleague(app, owner.org_id, { role: 'admin' })
  member = await newColleague(app, owner.org_id)
  rival = await newCustomer(app)
})
after(() => app.close())
afterEach(async () => {
  reload('enabled: true')
  assert.deepEqual(await app.audit(), {})
})

const { tokens, reload, clipOf, share, list, revoke, open, newLink } = shareLinks(() => app)

test('200 with the address once, and in lists only what distinguishes links', async () => {
  const { video, link } = await newLink(owner)
  const { url, ...shown } = link
  const token = url.slice(-43)
  assert.equal(url, `${app.url}/s/${token}`)
  assert.deepEqual(shown, {
    id: link.id,
    object: 'share_link',
    video_id: video,
    hint: token.slice(-4),
    download: false,
    created_at: link.created_at,
    expires_at: link.created_at + 7 * DAY,
  })
  const second = (await share(owner, video, { expires_in_days: 1 })).body
  const { status, body, text } = await list(owner, video)
  assert.equal(status, 200)
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    [second.id, link.id],
  )
  assert.deepEqual(body.data[1], shown)
  assert.ok(!text.includes(token))
  const { rows } = await app.database.pool.query('select * from share_links where id = $1', [link.id])
  assert.ok(!JSON.stringify(rows).includes(token.slice(0, 20)))
})

test('400 for a life beyond the operator’s, shorter than a day, or of no number; the field is named', async () => {
  const video = await clipOf(owner)
  reload('enabled: true, days_max: 7')
  assert.equal((await share(owner, video, { expires_in_days: 7 })).status, 200)
  for (const [days, code] of [
    [8, 'integer_above_max_value'],
    [31, 'integer_above_max_value'],
    [0, 'integer_below_min_value'],
    [1.5, 'invalid_type'],
    ['7', 'invalid_type'],
    [undefined, 'missing_required_parameter'],
  ] as const) {
    const answer = await share(owner, video, { expires_in_days: days })
    assertRefused(answer, { status: 400, code, param: 'expires_in_days' })
  }
  const answer = await share(owner, video, { expires_in_days: 1, password: 'x' })
  assertRefused(answer, { status: 400, code: 'unknown_parameter', param: 'password' })
})

test('409 for a clip that is not completed, and beyond 20 links, however many ask at once', async () => {
  const running = (await submit(app, { key: owner.key })).body.id
  assertRefused(await share(owner, running), { status: 409, code: 'conflict', message: /it can be shared once/ })
  await app.tick()
  const video = await clipOf(owner)
  const answers = await Promise.all(Array.from({ length: 25 }, () => share(owner, video)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 20)
  const refused = answers.find(({ status }) => status !== 200)!
  assertRefused(refused, { status: 409, code: 'conflict', message: /Revoke one/ })
  const [first] = (await list(owner, video)).body.data
  await revoke(owner, first.id)
  assert.equal((await share(owner, video)).status, 200)
})

test('403 for a member with a clip of somebody else, whom owners and admins share and unshare for', async () => {
  const denied = { status: 403, code: 'permission_denied', type: 'permission_error', message: /owner or admin/ }
  const { video, link } = await newLink(owner)
  assertRefused(await share(member, video), denied)
  assertRefused(await list(member, video), denied)
  assertRefused(await revoke(member, link.id), denied)
  const theirs = await newLink(member)
  for (const person of [owner, admin]) {
    const made = await share(person, theirs.video)
    assert.equal(made.status, 200)
    assert.equal((await revoke(member, made.body.id)).status, 200)
  }
  assert.equal((await revoke(admin, theirs.link.id)).status, 200)
})

test('404 for clips and links of another organization, as for those that do not exist', async () => {
  const { video, link, path } = await newLink(owner)
  for (const id of [video, 'video_00000000000000000000000000', 'x']) {
    assertRefused(await share(rival, id), { status: 404, code: 'not_found' })
    assertRefused(await list(rival, id), { status: 404, code: 'not_found' })
  }
  for (const id of [link.id, 'share_00000000000000000000000000', 'x'])
    assertRefused(await revoke(rival, id), { status: 404, code: 'not_found' })
  assert.equal((await open(path)).status, 200)
})

test('links made and revoked are in the activity log, without the token and the prompt', async () => {
  const { link } = await newLink(member)
  await revoke(admin, link.id)
  const { body, text } = await send(app, 'GET', '/console/activity', { cookie: owner.cookie })
  const [revoked, made] = body.data
  const details = { name: made.details.name, link: `…${link.hint}` }
  assert.match(details.name, /^instant-1, 4 s, /)
  assert.deepEqual(
    [made, revoked].map(({ action, target, actor, details }) => [action, target, actor.email, details]),
    [
      ['share_link.create', link.id, member.email, details],
      ['share_link.revoke', link.id, admin.email, details],
    ],
  )
  for (const word of ['dragon', ...tokens]) assert.ok(!text.includes(word))
})
