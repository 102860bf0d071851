import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { isNetwork, proxyTest } from '../../server/platform/http/client-address.ts'
import { startApp } from '../support/http/app.ts'
import { newOrganization, newPerson, PASSWORD, signInAs } from '../support/http/people.ts'

type Proxied = Awaited<ReturnType<typeof start>>

async function start(trusted_proxies: string[]) {
  const app = await startApp({ config: JSON.stringify({ trusted_proxies }) })
  const person = await newPerson(app, await newOrganization(app), 'owner')
  return {
    app,
    person,
    /** A sign-in with this `X-Forwarded-For`. Each has an account of its own, so that addresses alone count. */
    tryWith: async (
      forwarded: string,
      email = `nobody-${Math.random().toString(36).slice(2)}@example.com`,
      password = 'x',
    ) => (await signInAs(app, email, password, { headers: { 'x-forwarded-for': forwarded } })).status,
  }
}

async function failTenTimes({ tryWith }: Proxied, forwarded: (n: number) => string): Promise<void> {
  for (let n = 0; n < 10; n++) assert.equal(await tryWith(forwarded(n)), 401, `failure ${n + 1}`)
}

test('behind a trusted proxy ten wrong passwords lock out the address they came from, and no other', async () => {
  const proxied = await start(['127.0.0.1', '10.0.0.0/8'])
  const { app, person, tryWith } = proxied
  try {
    await failTenTimes(proxied, () => '203.0.113.7')
    assert.equal(await tryWith('203.0.113.7', person.email, PASSWORD), 429)
    assert.equal(await tryWith('203.0.113.8', person.email, PASSWORD), 200)
    assert.equal(await tryWith('203.0.113.8, 10.1.2.3', person.email, PASSWORD), 200, 'proxies in a row')
    assert.equal(await tryWith('203.0.113.7, 10.1.2.3', person.email, PASSWORD), 429)
  } finally {
    await app.close()
  }
})

test('an X-Forwarded-For of the client itself does not change its address', async () => {
  const proxied = await start(['127.0.0.1'])
  try {
    await failTenTimes(proxied, (n) => `198.51.100.${n}, 10.0.0.${n}, 203.0.113.9`)
    assert.equal(await proxied.tryWith('192.0.2.1, 203.0.113.9'), 429)
    await sql`truncate login_attempts`.execute(proxied.app.database.db)
    await failTenTimes(
      proxied,
      (n) => ['unknown', '_hidden', '1.2.3.4:5678', '', '%s', '::ffff:1.2.3.999', 'a'.repeat(999)][n % 7]!,
    )
    assert.equal(await proxied.tryWith('not an address'), 429, 'what is no address counts as the proxy')
  } finally {
    await proxied.app.close()
  }
})

test('only trusted proxies are believed, and nobody when none is configured', async () => {
  for (const trusted of [[], ['192.0.2.0/24', 'fd00::/8']]) {
    const proxied = await start(trusted)
    try {
      await failTenTimes(proxied, (n) => `203.0.113.${n}`)
      assert.equal(await proxied.tryWith('203.0.113.99'), 429, JSON.stringify(trusted))
    } finally {
      await proxied.app.close()
    }
  }
})

test('networks are matched bit by bit, IPv6 and IPv4 within IPv6 too, and anything else is a mistake of the configuration', () => {
  const trusts = proxyTest(['10.0.0.0/9', 'fd00:1::/33', '192.0.2.1'])!
  for (const address of ['10.127.255.255', 'fd00:1:7fff::1', '192.0.2.1', '::ffff:10.1.1.1'])
    assert.ok(trusts(address), address)
  for (const address of ['10.128.0.0', 'fd00:1:8000::1', '192.0.2.2', '', 'proxy']) assert.ok(!trusts(address), address)
  for (const text of ['10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8', '0.0.0.0/0']) assert.ok(isNetwork(text), text)
  for (const text of ['', 'loopback', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0']) {
    assert.ok(!isNetwork(text), text)
  }
})
