import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../../../server/platform/clock.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { newOrganization, whoAmI } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'
import { type OidcServer, startOidcServer } from './oidc-server.ts'

/** A service whose people sign in by a provider, with the two stops of a browser. */
export type OidcApp = {
  provider: OidcServer
  app: TestApp
  /** The id of an organization. */
  org: string
  /** The first stop: where the browser is sent, and the cookie that it keeps. */
  begin(at?: { url: string }): Promise<{ url: string; set_cookie: string | undefined; cookie: string }>
  /** The second stop: where the browser ends, and its session. */
  comeBack(back: URL, cookie: string): Promise<{ to: string; cookies: string[]; session: string; headers: Headers }>
  /** Both stops of the person with these claims, in a browser that may hold another cookie. */
  signInBy(person: Record<string, unknown>, cookie?: string): ReturnType<OidcApp['comeBack']>
  /** As `signInBy`, in a process that has not read the discovery document yet. */
  signInElsewhere(sub: string, oidc?: OidcServer['config']): Promise<{ to: string }>
  /** Where a sign-in ends that was refused. */
  refused(reason: string): string
  // biome-ignore lint/suspicious/noExplicitAny: the body of an answer, of which a test reads what it is about
  whoIs(session: string): Promise<any>
  close(): Promise<void>
}

function withProvider(oidc: OidcServer['config']): string {
  return JSON.stringify({ login: { oidc } })
}

export const freshSubject = () => `sub-${randomBytes(6).toString('hex')}`
export const freshEmail = () => `${randomBytes(6).toString('hex')}@example.com`

export async function startOidcApp(): Promise<OidcApp> {
  let clock: Clock = systemClock
  const provider = await startOidcServer({ now: () => clock.now() })
  const app = await startApp({ config: withProvider(provider.config), endpoints: [whoAmI] })
  clock = app.clock
  const org = await newOrganization(app)

  const begin: OidcApp['begin'] = async (at = app) => {
    const answer = await send(at, 'GET', '/console/auth/oidc')
    assert.equal(answer.status, 302)
    const [set_cookie] = answer.headers.getSetCookie()
    return { url: answer.headers.get('location')!, set_cookie, cookie: set_cookie?.split(';', 1)[0] ?? '' }
  }

  const comeBack: OidcApp['comeBack'] = async (back, cookie) => {
    const answer = await send(app, 'GET', back.pathname + back.search, { cookie })
    assert.equal(answer.status, 302)
    const cookies = answer.headers.getSetCookie()
    const session = cookies.find((each) => each.startsWith('kinora.session_token='))?.split(';', 1)[0] ?? ''
    return { to: answer.headers.get('location')!, cookies, session, headers: answer.headers }
  }

  return {
    provider,
    app,
    org,
    begin,
    comeBack,
    async signInBy(person, cookie = '') {
      provider.conduct.person = person
      const { url, cookie: state } = await begin()
      return comeBack(provider.authorize(url), cookie ? `${cookie}; ${state}` : state)
    },
    async signInElsewhere(sub, oidc = provider.config) {
      const second = await startApp({ beside: app, config: withProvider(oidc) })
      second.clock.set(app.clock.now())
      provider.conduct.person = { ...provider.conduct.person, sub }
      const { url, cookie } = await begin(second)
      if (url.startsWith(second.url)) {
        await second.close()
        return { to: url }
      }
      const back = provider.authorize(url)
      const answer = await send(second, 'GET', back.pathname + back.search, { cookie })
      await second.close()
      return { to: answer.headers.get('location')! }
    },
    refused: (reason) => `${app.url}/sign-in?error=${reason}`,
    whoIs: async (session) => (await send(app, 'GET', '/console/session', { cookie: session })).body,
    async close() {
      await app.close()
      await provider.close()
    },
  }
}
