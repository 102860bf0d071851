import { performance } from 'node:perf_hooks'
import type { Kysely } from 'kysely'
import type { Config } from '../config/config.ts'
import type { Secrets } from '../context.ts'
import type { Clock } from '../platform/clock.ts'
import type { Changes } from '../platform/db/changes.ts'
import type { Database } from '../platform/db/db.ts'
import type { Log } from '../platform/log.ts'
import { type Callers, openCallers } from './caller/authenticate.ts'
import { cookieSecret, type SessionCookie, sessionCookie } from './caller/cookie.ts'
import type { Authenticator } from './caller/principal.ts'
import { openLoginLibrary } from './login/library.ts'
import type { LoginContext } from './login/sign-in.ts'
import { type OidcProvider, openOidcProvider } from './oidc/provider.ts'

export type Identity = {
  authenticator: Authenticator
  /** The same, with what endpoints need to forget a caller at once. */
  callers: Callers
  login: LoginContext
  cookie(): SessionCookie
  /** Null when none is configured. */
  oidc: OidcProvider | null
  /** Stops listening and writes the last uses of keys. */
  close(): Promise<void>
}

/** How often the use of keys is written. */
const NOTE_USE_MS = 60_000

/** What triggers on the tables of callers announce: `key:<id>`, `session:<id>`, `user:<id>` or `org:<id>`. See server/migrations/0001-identity.sql. */
export const IDENTITY_TOPIC = 'kinora_identity'

/**
 * Who is calling, for one process. With `changes`, a revoked key or a removed person is refused at once, whichever process made the change;
 * without, or while announcements fail, within five seconds. `monotonic` counts milliseconds.
 */
export async function openIdentity(deps: {
  db: Kysely<Database>
  config: Pick<Config, 'login'>
  clock: Clock
  log: Log
  secrets: Secrets
  site: { public_url: string }
  /** Opened with IDENTITY_TOPIC among its `trigger_topics`. */
  changes?: Changes
  monotonic?: () => number
}): Promise<Identity> {
  const { db, clock, log, site } = deps
  const [current, ...previous] = deps.secrets
  const secrets: Secrets = [cookieSecret(current), ...previous.map(cookieSecret)]
  const cookie = () => sessionCookie({ public_url: site.public_url, secrets })
  const monotonic = deps.monotonic ?? (() => performance.now())
  const callers = openCallers({ db, clock, log, cookie, monotonic })
  const open = () => openLoginLibrary({ db, clock, log, secret: secrets[0], public_url: site.public_url })
  let library: ReturnType<typeof openLoginLibrary> | null = null
  const login: LoginContext = { db, clock, secrets, cookie, library: () => (library ??= open()) }

  const settings = deps.config.login.oidc
  const oidc = settings && openOidcProvider(settings, { clock })
  const stopListening = deps.changes?.on(IDENTITY_TOPIC, (notice) => {
    if (notice === null) callers.forgetAll()
    else callers.forget(notice)
  })
  const noting = setInterval(callers.noteUse, NOTE_USE_MS)
  noting.unref()
  return {
    authenticator: callers,
    callers,
    login,
    cookie,
    oidc,
    async close() {
      clearInterval(noting)
      stopListening?.()
      await callers.noteUse()
      await oidc?.close()
    },
  }
}
