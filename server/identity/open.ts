import { performance } from 'node:perf_hooks'
import { isDeepStrictEqual } from 'node:util'
import type { Kysely } from 'kysely'
import type { Config, OidcConfig } from '../config/config.ts'
import type { Secrets } from '../context.ts'
import type { Clock } from '../platform/clock.ts'
import type { Changes } from '../platform/db/changes.ts'
import type { Database } from '../platform/db/db.ts'
import type { Log } from '../platform/log.ts'
import { type Callers, openCallers } from './caller/authenticate.ts'
import { cookieSecret, type SessionCookie, sessionCookie } from './caller/cookie.ts'
import type { Authenticator } from './caller/principal.ts'
import { type LoginLibrary, openLoginLibrary } from './login/library.ts'
import type { LoginContext } from './login/sign-in.ts'
import { type OidcProvider, openOidcProvider } from './oidc/provider.ts'

export type Identity = {
  authenticator: Authenticator
  /** The same, with what routes need to forget a caller at once. */
  callers: Callers
  login: LoginContext
  cookie(): SessionCookie
  /** Null when none is configured. */
  oidc(): OidcProvider | null
  /** Stops listening and writes the last uses of keys. */
  close(): Promise<void>
}

/** How often the use of keys is written. */
const NOTE_USE_MS = 60_000

/** What triggers on the tables of callers announce: `key:<id>`, `session:<id>`, `user:<id>` or `org:<id>`. See server/migrations/0001-baseline.sql. */
export const IDENTITY_TOPIC = 'kinora_identity'

/**
 * Who is calling, for one process. With `changes`, a revoked key or a removed person is refused at once, whichever process made the change;
 * without, or while announcements fail, within five seconds. `monotonic` counts milliseconds. `live` is read at each use: secrets, public
 * URL and identity provider may change.
 */
export async function openIdentity(deps: {
  db: Kysely<Database>
  clock: Clock
  log: Log
  live: { config: Pick<Config, 'login'>; secrets: Secrets; site: { public_url: string } }
  /** Opened with IDENTITY_TOPIC among its `trigger_topics`. */
  changes?: Changes
  monotonic?: () => number
}): Promise<Identity> {
  const { db, clock, log, live } = deps
  const derive = (all: Secrets): Secrets => [cookieSecret(all[0]), ...all.slice(1).map(cookieSecret)]
  const derived = new WeakMap<Secrets, Secrets>()
  const secretsNow = (): Secrets => {
    const secrets = derived.get(live.secrets) ?? derive(live.secrets)
    derived.set(live.secrets, secrets)
    return secrets
  }
  const cookie = () => sessionCookie({ public_url: live.site.public_url, secrets: secretsNow() })
  const monotonic = deps.monotonic ?? (() => performance.now())
  const callers = openCallers({ db, clock, log, cookie, monotonic })
  const login: LoginContext = {
    db,
    clock,
    cookie,
    get secrets() {
      return secretsNow()
    },
    library: openLibraries({ db, clock, log }, () => ({ secret: secretsNow()[0], public_url: live.site.public_url })),
  }
  const providers = openProviders(clock)
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
    oidc: () => providers.find(live.config.login.oidc),
    async close() {
      clearInterval(noting)
      stopListening?.()
      await callers.noteUse()
      await providers.close()
    },
  }
}

type Library = () => Promise<LoginLibrary>

/** The login library for the secret and URL of now. */
function openLibraries(
  deps: { db: Kysely<Database>; clock: Clock; log: Log },
  now: () => { secret: string; public_url: string },
): Library {
  let opened: { for: { secret: string; public_url: string }; library: Promise<LoginLibrary> } | null = null
  return () => {
    const wanted = now()
    if (!isDeepStrictEqual(opened?.for, wanted)) {
      opened = { for: wanted, library: openLoginLibrary({ ...deps, ...wanted }) }
    }
    return opened!.library
  }
}

/** The client of the identity provider as configured now. One that was replaced is closed with the process: a sign-in may be under way. */
function openProviders(clock: Clock) {
  const opened: OidcProvider[] = []
  let current: { settings: OidcConfig; provider: OidcProvider } | null = null
  return {
    find(settings: OidcConfig | null): OidcProvider | null {
      if (settings === null) return null
      if (!isDeepStrictEqual(current?.settings, settings)) {
        current = { settings, provider: openOidcProvider(settings, { clock }) }
        opened.push(current.provider)
      }
      return current!.provider
    },
    close: async () => void (await Promise.all(opened.map((each) => each.close()))),
  }
}
