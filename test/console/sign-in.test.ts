import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { freshEmail, freshSubject, startOidcApp } from '../http/console/oidc-app.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { newOrganization, PASSWORD } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'
import { turnOnTwoFactor } from '../support/http/two-factor.ts'
import { findBarriers, openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
let person: TestPerson
before(async () => {
  browser = await openBrowser()
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app?.close())

async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.keyboard.press('Enter')
}

/** Without the key, which would win. */
const browserAs = ({ cookie }: TestPerson) => ({ cookie })

test('a person who is not signed in gets the sign-in page, then the page they came for', async () => {
  const { page, close, screenshot } = await openConsole(browser, { app, path: '/usage?from=1' })
  assert.equal(new URL(page.url()).pathname, '/sign-in')
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('sign-in')
  await signIn(page, person.email)
  await page.waitForURL('**/usage?from=1')
  await page.getByRole('heading', { level: 1 }).waitFor()
  await close()
})

test('a wrong password is reported on the page, and the email stays', async () => {
  const { page, close, allow, screenshot } = await openConsole(browser, { app, path: '/sign-in' })
  allow(/status of 401/)
  await signIn(page, person.email, 'not the password')
  await page.getByRole('alert').getByText('Wrong email or password.').waitFor()
  assert.equal(await page.getByLabel('Email').inputValue(), person.email)
  await screenshot('sign-in-wrong')
  await close()
})

test('a person with a second factor is asked for it, or for a recovery code', async () => {
  const guarded = await newCustomer(app)
  const { recovery_codes } = await turnOnTwoFactor(app, guarded)
  const { page, close, allow, screenshot } = await openConsole(browser, { app, path: '/sign-in?return=/keys' })
  allow(/status of 401/)
  await signIn(page, guarded.email)
  await page.getByLabel('Code').fill('000000')
  await page.keyboard.press('Enter')
  await page.getByText('The code is wrong').waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('second-step')
  await page.getByRole('button', { name: 'Use a recovery code' }).click()
  await page.getByLabel('Recovery code').fill(recovery_codes[0]!)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/keys')
  await close()
})

test('a failure at the identity provider is shown on the sign-in page', async () => {
  const { page, close } = await openConsole(browser, { app, path: '/sign-in?error=oidc_no_account' })
  await page.getByRole('alert').getByText('Ask an owner to invite you').waitFor()
  await close()
})

test('a return path to another site is not followed', async () => {
  for (const target of ['https://example.com/', '//example.com/', '/\\example.com/']) {
    const { page, close } = await openConsole(browser, { app, path: `/sign-in?return=${encodeURIComponent(target)}` })
    await signIn(page, person.email)
    await page.waitForURL('**/videos')
    await close()
  }
})

test('signing out ends the session, and returning requires signing in', async () => {
  const { page, close } = await openConsole(browser, { app, path: '/sign-in' })
  await signIn(page, person.email)
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/sign-in')
  await page.goto(`${app.url}/billing`)
  await page.getByLabel('Email').waitFor()
  await close()
})

test('a session that ends while the console is open leads to the sign-in page and back', async () => {
  const other = await newCustomer(app)
  const { page, close, allow } = await openConsole(browser, { app, as: other, path: '/files' })
  allow(/status of 401/)
  await send(app, 'POST', '/console/auth/sign-out', browserAs(other))
  await page.waitForURL('**/sign-in?return=*')
  await page.getByText('Your session has ended.').waitFor()
  await signIn(page, other.email)
  await page.waitForURL('**/files')
  await close()
})

test('the sign-in page reports a session that ended while the console was closed, but not a first visit or signing out', async () => {
  const other = await newCustomer(app)
  const ended = 'セッションが終了しました。'
  const { page, close, allow } = await openConsole(browser, { app, as: other, path: '/files', language: 'ja' })
  allow(/status of 401/)
  await page.goto('about:blank')
  await send(app, 'POST', '/console/auth/sign-out', browserAs(other))
  await page.goto(`${app.url}/keys`)
  await page.getByText(ended).waitFor()
  await page.getByLabel('メールアドレス').fill(other.email)
  await page.getByLabel('パスワード', { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/keys')
  await page.getByRole('button', { name: /^アカウント/ }).click()
  await page.getByRole('menuitem', { name: 'サインアウト' }).click()
  await page.waitForURL('**/sign-in')
  assert.equal(await page.getByText(ended).count(), 0)
  await page.goto(`${app.url}/keys`)
  await page.getByRole('button', { name: 'サインイン' }).waitFor()
  assert.equal(await page.getByText(ended).count(), 0)
  await close()
})

test('an invitation creates a person and signs them in; no requested URL contains its token', async () => {
  const invitation = await send(app, 'POST', '/console/invitations', browserAs(person), {
    email: 'new@example.com',
    role: 'member',
  })
  const asked: string[] = []
  const { page, close, allow, screenshot } = await openConsole(browser, {
    app,
    path: new URL(invitation.body.accept_url).pathname,
  })
  allow(/status of 40[01]/)
  await page.getByText('This link does not contain an invitation').waitFor()
  page.on('request', (request) => asked.push(request.url()))
  await page.goto('about:blank')
  await page.goto(invitation.body.accept_url)
  await page.getByLabel('Your name').waitFor()
  await page.getByText('You have been invited to join Acme as a member.').waitFor()
  await page.getByText('new@example.com').waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('invitation')
  await page.getByRole('button', { name: 'Join' }).click()
  await page.getByRole('alert').first().waitFor()
  await page.getByLabel('Your name').fill('Noa')
  await page.getByLabel('Password', { exact: true }).fill('long enough for this')
  await page.getByRole('button', { name: 'Join' }).click()
  await page.waitForURL('**/videos')
  await page.getByRole('button', { name: /^Account Noa/ }).waitFor()
  assert.ok(asked.every((url) => !new URL(url).search.includes('inv_') && !new URL(url).pathname.includes('inv_')))
  await close()
})

/** A person who acts in `other` and belongs to Acme too. */
async function ofTwoOrganizations() {
  const both = await newCustomer(app)
  const other = await newOrganization(app, 'Second House')
  const owner = await newColleague(app, other, { role: 'owner' })
  const invitation = await send(app, 'POST', '/console/invitations', browserAs(owner), {
    email: both.email,
    role: 'member',
  })
  await send(app, 'POST', '/console/invitations/accept', browserAs(both), { token: invitation.body.token })
  return { both, other }
}

test('a person of two organizations switches between them, and every tab follows', async () => {
  const { both, other } = await ofTwoOrganizations()
  const { page, close, screenshot } = await openConsole(browser, { app, as: both })
  await page.getByRole('button', { name: /^Organization Second House/ }).click()
  await screenshot('organizations')
  await page.getByRole('menuitemradio', { name: 'Acme' }).click()
  await page.getByRole('button', { name: /^Organization Acme/ }).waitFor()
  const session = await send(app, 'GET', '/console/session', browserAs(both))
  assert.match(session.body.organization.name, /^Acme/)
  await send(app, 'POST', '/console/session/organization', browserAs(both), { organization_id: other })
  await page.getByRole('button', { name: /^Organization Second House/ }).waitFor()
  await close()
})

test('a tab follows a switch that came between its session and its stream of events', async () => {
  const { both } = await ofTwoOrganizations()
  const { page, close } = await openConsole(browser, { app, as: both })
  const { promise: switched, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/console/events', async (route) => {
    await switched
    await route.continue()
  })
  await page.reload()
  await page.getByRole('button', { name: /^Organization Second House/ }).waitFor()
  await send(app, 'POST', '/console/session/organization', browserAs(both), { organization_id: both.org_id })
  release()
  await page.getByRole('button', { name: /^Organization Acme/ }).waitFor()
  await close()
})

test('an invitation that was used says so in the language of the reader, asks for nothing and leads on to the console', async () => {
  const body = { email: 'used@example.com', role: 'member' }
  const { token, accept_url } = (await send(app, 'POST', '/console/invitations', browserAs(person), body)).body
  const join = { token, name: 'Noa', password: PASSWORD }
  assert.equal((await send(app, 'POST', '/console/invitations/accept', {}, join)).status, 200)
  const { page, close, allow, screenshot } = await openConsole(browser, { app, path: '/sign-in', language: 'ja' })
  allow(/status of 40[14]/)
  await page.goto(accept_url)
  await page.getByText('この招待は使用済みか、取り消されたか、期限が切れています。').waitFor()
  assert.equal(await page.getByRole('textbox').count(), 0)
  await page.getByRole('link', { name: 'コンソールへ進む' }).waitFor()
  assert.doesNotMatch(await page.locator('main').innerText(), /No such|invitation/)
  await screenshot('invitation-used')
  await close()
})

test('after the identity provider, somebody whom several organizations invite chooses one; without that sign-in the page leads back', async (t) => {
  const oidc = await startOidcApp()
  t.after(oidc.close)
  const email = freshEmail()
  const hosts = [await newCustomer(oidc.app), await newCustomer(oidc.app)]
  for (const host of hosts)
    await send(oidc.app, 'POST', '/console/invitations', browserAs(host), { email, role: 'member' })
  const { name } = (await oidc.whoIs(hosts[0]!.cookie)).organization
  const person = { sub: freshSubject(), email, email_verified: true, name: 'Grace' }
  const { cookies } = await oidc.signInBy(person)
  const choice = cookies.find((each) => each.startsWith('kinora.oidc_choice='))!.split(';', 1)[0]!
  const { page, context, close, allow, screenshot } = await openConsole(browser, { app: oidc.app, path: '/sign-in' })
  allow(/status of 401/)
  const [cookie, value] = choice.split('=') as [string, string]
  const place = { domain: new URL(oidc.app.url).hostname, path: '/console/auth/oidc' }
  await context.addCookies([{ name: cookie, value, ...place, httpOnly: true, sameSite: 'Lax' }])
  await page.goto(`${oidc.app.url}/invitations/choose`)
  await page.getByText(`You have been invited to join ${name} as a member.`).waitFor()
  await page.getByText(`Invited by ${hosts[0]!.email}`).waitFor()
  assert.deepEqual(await findBarriers(page), [])
  await screenshot('choose-invitation')
  await page.getByRole('button', { name: `Join ${name}`, exact: true }).click()
  await page.waitForURL('**/videos')
  await page.getByRole('button', { name: /^Account Grace/ }).waitFor()
  await page.goto(`${oidc.app.url}/invitations/choose`)
  await page.getByText('Signing in took too long').waitFor()
  await page.getByRole('link', { name: 'Sign in' }).waitFor()
  await close()
})

test('before joining, a person with an account is led to sign in, and one signed in as somebody else to sign out', async () => {
  const guest = await newCustomer(app)
  const house = await newOrganization(app, 'Third House')
  const host = await newColleague(app, house, { role: 'owner' })
  const body = { email: guest.email, role: 'admin' }
  const { accept_url } = (await send(app, 'POST', '/console/invitations', browserAs(host), body)).body
  const { page, close, allow, screenshot } = await openConsole(browser, { app, as: host, path: '/keys' })
  allow(/status of 401/)
  await page.goto(accept_url)
  await page.getByText('You have been invited to join Third House as an admin.').waitFor()
  await page.getByText(`You are signed in as ${host.email}`).waitFor()
  await screenshot('invitation-other')
  assert.deepEqual(await findBarriers(page), [])
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('link', { name: 'Sign in to join' }).click()
  await signIn(page, guest.email)
  await page.getByText(`join with this account`).waitFor()
  await page.getByRole('button', { name: 'Join' }).click()
  await page.waitForURL('**/videos')
  await page.getByRole('button', { name: /^Organization Third House/ }).waitFor()
  await close()
})
