import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createOrganization } from '../../server/identity/people/provision.ts'
import { isOrganizationNameTaken } from '../../server/identity/people/store.ts'
import { testDatabase } from '../support/data/postgres.ts'

const { db, close } = await testDatabase()
after(close)

test('no two organizations have names that differ in case alone', async () => {
  const create = (name: string) =>
    db.transaction().execute((tx) => createOrganization(tx, { name, plan: 'free', now: new Date() }))
  await create('Studio')
  for (const name of ['STUDIO', 'Studio']) {
    await assert.rejects(create(name), (error) => isOrganizationNameTaken(error), name)
  }
  await create('Écran')
  await assert.rejects(create('éCRAN'), (error) => isOrganizationNameTaken(error))
  const made = await Promise.allSettled(['Race', 'rAce', 'raCe', 'racE'].map(create))
  assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1)
})
