import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takingTurnsAs } from '../../platform/turns.ts'
import { hashPassword, verifyPassword } from './passwords.ts'

test('a password waits for the one that runs and one of each other address, however many those have sent', async () => {
  const ended: string[] = []
  const ask = (address: string) =>
    takingTurnsAs(address, async () => {
      await hashPassword('correct horse battery staple')
      ended.push(address)
    })
  await Promise.all([...['many', 'many', 'many', 'many', 'many'].map(ask), ask('other'), ask('third')])
  assert.deepEqual(ended, ['many', 'many', 'other', 'third', 'many', 'many', 'many'])
})

test('a hash that cannot be read ends its own check alone', async () => {
  const hash = await hashPassword('correct horse battery staple')
  const broken = verifyPassword({ hash: 'no hash', password: 'correct horse battery staple' })
  const next = verifyPassword({ hash, password: 'correct horse battery staple' })
  await assert.rejects(broken)
  assert.equal(await next, true)
})
