import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { agree, newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { newOrganization, PASSWORD } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

let app: TestApp
let browser: Browser
before(async () => {
  browser = await openBrowser()
  app = await startApp()
})
after(() => app?.close())

/** Somebody of two organizations who agreed to the terms in both and acts in the first. */
async function newMemberOfTwo(): Promise<TestPerson & { other_id: string }> {
  const person = await newCustomer(app)
  const other_id = await newOrganization(app, 'Second House')
  const owner = await newColleague(app, other_id, { role: 'owner' })
  const body = { email: person.email, role: 'owner' }
  const { token } = (await send(app, 'POST', '/console/invitations', { cookie: owner.cookie }, body)).body
  await send(app, 'POST', '/console/invitations/accept', { cookie: person.cookie }, { token })
  await agree(app, { cookie: person.cookie })
  await switchTo(person, person.org_id)
  return { ...person, other_id }
}

async function switchTo({ cookie }: TestPerson, organization_id: string): Promise<void> {
  const answer = await send(app, 'POST', '/console/session/organization', { cookie }, { organization_id })
  assert.equal(answer.status, 200)
}

/**
 * Holds the answers to POST requests of a path back until `release`; `count` were asked for so far. `complete` resolves once
 * `expected` of them came from the service, which then has done what they asked for in the organization of that moment.
 */
async function holdAnswers(page: Page, path: string, expected: number) {
  const released = Promise.withResolvers<void>()
  const complete = Promise.withResolvers<void>()
  const held = { count: 0, complete: complete.promise, release: released.resolve }
  let answered = 0
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    held.count += 1
    const response = await route.fetch()
    answered += 1
    if (answered === expected) complete.resolve()
    await released.promise
    await route.fulfill({ response }).catch(() => {})
  })
  return held
}

const FOUR = ['a', 'b', 'c', 'd'].map((name) => ({
  name: `${name}.txt`,
  mimeType: 'text/plain',
  buffer: Buffer.from(name),
}))

test('uploads that wait are neither shown nor sent in the organization that the person switches to', async () => {
  const person = await newMemberOfTwo()
  const { page, close } = await openConsole(browser, { app, as: person, path: '/files' })
  const answers = await holdAnswers(page, '/v1/files', 3)
  await page.locator('input[type=file]').setInputFiles(FOUR)
  const uploads = page.getByRole('list', { name: 'Uploads' })
  await uploads.getByText('Waiting').waitFor()
  await answers.complete
  await switchTo(person, person.other_id)
  await page.getByRole('button', { name: /^Organization Second House/ }).waitFor()
  await uploads.waitFor({ state: 'detached' })
  answers.release()
  await page.getByRole('heading', { name: 'No files yet' }).waitFor()
  assert.equal(answers.count, 3)
  await close()
})

test('uploads are not shown to the next person who signs in after the session has ended', async () => {
  const person = await newCustomer(app)
  const next = await newCustomer(app)
  const { page, close, allow } = await openConsole(browser, { app, as: person, path: '/files' })
  allow(/status of 401|ERR_ABORTED|ERR_FAILED/)
  const answers = await holdAnswers(page, '/v1/files', 3)
  await page.locator('input[type=file]').setInputFiles(FOUR)
  await page.getByText('Waiting').waitFor()
  await answers.complete
  await send(app, 'POST', '/console/auth/sign-out', { cookie: person.cookie })
  await page.waitForURL('**/sign-in?return=*')
  await page.getByLabel('Email').fill(next.email)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'No files yet' }).waitFor()
  assert.equal(await page.getByText('a.txt').count(), 0)
  await close()
})

test('a job that was answered after the person switched the organization is not shown in the other one', async () => {
  const person = await newMemberOfTwo()
  const { page, close } = await openConsole(browser, { app, as: person, path: '/videos' })
  const answers = await holdAnswers(page, '/v1/videos', 1)
  await page.getByLabel('Prompt', { exact: true }).fill('A paper boat on a calm lake')
  await page.getByRole('button', { name: /^Generate/ }).click()
  await answers.complete
  // By its event, which comes although the answer does not.
  await page.locator('[data-job-status]').waitFor()
  await switchTo(person, person.other_id)
  await page.getByRole('button', { name: /^Organization Second House/ }).waitFor()
  await page.getByRole('heading', { name: 'Describe your first video' }).waitFor()
  const answered = page.waitForResponse((response) => response.request().method() === 'POST')
  answers.release()
  await answered
  await page.getByRole('button', { name: /^Generate/ }).waitFor()
  assert.equal(await page.locator('[data-job-status]').count(), 0)
  await close()
})
