import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { databaseClientOptions } from '../../server/platform/db/client-options.ts'

const home = mkdtempSync(join(tmpdir(), 'kinora-password-'))
const file = join(home, 'pgpass')
process.env.PGPASSFILE = file
after(() => rmSync(home, { recursive: true, force: true }))

const asking = { host: 'db.example.com', port: 5432, database: 'kinora', user: 'kinora' }
async function passwordFor(url: string): Promise<unknown> {
  const { password } = databaseClientOptions(url)
  return typeof password === 'function' ? (password as (asked: typeof asking) => Promise<unknown>)(asking) : password
}

test('a URL without a password takes the one of the password file, as it is at that time', async () => {
  const url = 'postgres://kinora@db.example.com/kinora'
  writeFileSync(file, 'db.example.com:5432:*:kinora:first\n', { mode: 0o600 })
  assert.equal(await passwordFor(url), 'first')
  writeFileSync(file, 'db.example.com:5432:*:kinora:second\n')
  assert.equal(await passwordFor(url), 'second')
  writeFileSync(file, 'elsewhere.example.com:5432:*:kinora:third\n')
  assert.equal(await passwordFor(url), undefined)
})

test('a password in the URL comes before the file', async () => {
  writeFileSync(file, '*:*:*:*:of the file\n', { mode: 0o600 })
  assert.equal(await passwordFor('postgres://kinora:of%20the%20url@db.example.com/kinora'), 'of the url')
})
