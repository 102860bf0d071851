import { randomInt } from 'node:crypto'
import type { BetterAuthOptions, DBAdapter } from 'better-auth'
import type { Kysely } from 'kysely'
import { addSeconds, type Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/db/db.ts'
import { newId } from '../../platform/ids.ts'
import type { Log } from '../../platform/log.ts'
import { COOKIE_PREFIX, SESSION_SECONDS } from '../caller/cookie.ts'
import { organizationsOf } from '../people/store.ts'
import { newRowId, type RowKind } from '../row-ids.ts'
import { hashSessionTokens } from './hashed-tokens.ts'
import { hashPassword, verifyPassword } from './passwords.ts'

/** What the library writes before everything it encrypts. It is the same for every secret: `two-factor/secrets.ts` finds the one that fits. */
export const SECRET_VERSION = 1

export const PASSWORD_LENGTH = { min: 8, max: 128 } as const

export type LoginLibrary = Awaited<ReturnType<typeof openLoginLibrary>>

/**
 * The login library on our tables and our clock. None of its routes is mounted: ours in `routes.ts` call it.
 * Imported when first needed: it takes 0.3 s and 50 MB that a process without sign-ins never spends.
 * Source: docs/decisions/0002-console-login.md.
 */
export async function openLoginLibrary(deps: LoginDeps) {
  const [{ betterAuth }, { getAdapter }, options] = await Promise.all([
    import('better-auth'),
    import('better-auth/db/adapter'),
    loginOptions(deps),
  ])
  const adapter = keepConfirmedSecrets(hashSessionTokens(await getAdapter(options)))
  return betterAuth({ ...options, database: () => adapter })
}

export type LoginDeps = { db: Kysely<Database>; clock: Clock; log: Log; secret: string; public_url: string }

/** All options of the library. `test/http/identity/schema.test.ts` compares it with the migrations. */
export async function loginOptions(deps: LoginDeps) {
  const [{ organization }, { twoFactor }] = await Promise.all([
    import('better-auth/plugins/organization'),
    import('better-auth/plugins/two-factor'),
  ])
  const { db, clock } = deps
  return {
    appName: 'Kinora',
    baseURL: deps.public_url,
    basePath: '/console/auth',
    secret: deps.secret,
    secrets: [{ version: SECRET_VERSION, value: deps.secret }],
    database: { db, type: 'postgres' },
    telemetry: { enabled: false },
    logger: { level: 'warn', log: (level, message) => writeLog(deps.log, level, message) },
    rateLimit: { enabled: false },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: PASSWORD_LENGTH.min,
      maxPasswordLength: PASSWORD_LENGTH.max,
      password: { hash: hashPassword, verify: verifyPassword },
    },
    session: { expiresIn: SESSION_SECONDS, disableSessionRefresh: true, ...SESSION_TABLE },
    user: USER_TABLE,
    account: LOGIN_TABLE,
    verification: VERIFICATION_TABLE,
    advanced: {
      cookiePrefix: COOKIE_PREFIX,
      useSecureCookies: deps.public_url.startsWith('https://'),
      database: { generateId: ({ model }) => rowId(model, clock.now()) },
    },
    databaseHooks: {
      session: {
        create: {
          before: async (session) => {
            const now = clock.now()
            const first = (await organizationsOf(db, session.userId))[0]
            const times = { createdAt: now, updatedAt: now, expiresAt: addSeconds(now, SESSION_SECONDS) }
            return { data: { ...session, ...times, activeOrganizationId: first?.id ?? null } }
          },
        },
      },
    },
    plugins: [
      organization({ schema: ORGANIZATION_TABLES, allowUserToCreateOrganization: false }),
      // Attempts are counted in one place, `attempts.ts`, the same for passwords and codes.
      twoFactor({
        schema: TWO_FACTOR_TABLE,
        accountLockout: { enabled: false },
        backupCodeOptions: { customBackupCodesGenerate: recoveryCodes },
      }),
    ],
  } satisfies BetterAuthOptions
}

/** Characters that nobody mistakes for another on paper: no 0 and O, no 1, I and l. */
const CODE_CHARACTERS = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** Ten codes of ten characters: 58 bits each. */
function recoveryCodes(): string[] {
  const half = () => Array.from({ length: 5 }, () => CODE_CHARACTERS[randomInt(CODE_CHARACTERS.length)]).join('')
  return Array.from({ length: 10 }, () => `${half()}-${half()}`)
}

/**
 * A new secret of a second factor takes the place of an unconfirmed one alone. The library reads the row and writes it later, so another
 * request may have confirmed it in between; it does not say that nothing was written.
 */
function keepConfirmedSecrets(inner: DBAdapter): DBAdapter {
  const update: DBAdapter['update'] = (query) => {
    const replaces = query.model === 'twoFactor' && query.update.verified === false
    const where = replaces ? [...query.where, { field: 'verified', value: false }] : query.where
    return inner.update({ ...query, where })
  }
  return { ...inner, update }
}

/** What people do wrong is our routes' to answer, so the library's warnings are of interest to developers alone. */
function writeLog(log: Log, level: string, message: string): void {
  log[level === 'error' ? 'warn' : 'debug']('login_library', { detail: message })
}

const TIMES = { createdAt: 'created_at', updatedAt: 'updated_at' }

const USER_TABLE = { modelName: 'users', fields: { emailVerified: 'email_verified', ...TIMES } }

const SESSION_TABLE = {
  modelName: 'sessions',
  fields: { userId: 'user_id', ipAddress: 'ip_address', userAgent: 'user_agent', expiresAt: 'expires_at', ...TIMES },
}

const LOGIN_TABLE = {
  modelName: 'logins',
  fields: {
    userId: 'user_id',
    accountId: 'account_id',
    providerId: 'provider_id',
    accessToken: 'access_token',
    refreshToken: 'refresh_token',
    idToken: 'id_token',
    accessTokenExpiresAt: 'access_token_expires_at',
    refreshTokenExpiresAt: 'refresh_token_expires_at',
    ...TIMES,
  },
}

const VERIFICATION_TABLE = { modelName: 'verifications', fields: { expiresAt: 'expires_at', ...TIMES } }

const ORGANIZATION_TABLES = {
  organization: {
    modelName: 'organizations',
    fields: { createdAt: 'created_at' },
    additionalFields: { plan: { type: 'string' as const, required: true, input: false } },
  },
  member: { modelName: 'members', fields: { organizationId: 'org_id', userId: 'user_id', createdAt: 'created_at' } },
  invitation: {
    modelName: 'invitations',
    fields: { organizationId: 'org_id', inviterId: 'inviter_id', createdAt: 'created_at', expiresAt: 'expires_at' },
  },
  session: { fields: { activeOrganizationId: 'org_id' } },
}

const TWO_FACTOR_TABLE = {
  user: { fields: { twoFactorEnabled: 'two_factor_enabled' } },
  twoFactor: {
    modelName: 'two_factors',
    fields: {
      backupCodes: 'backup_codes',
      userId: 'user_id',
      failedVerificationCount: 'failed_verification_count',
      lockedUntil: 'locked_until',
    },
  },
}

const ROW_KINDS: Record<string, RowKind> = {
  session: 'session',
  account: 'login',
  verification: 'verification',
  member: 'member',
  invitation: 'invitation',
  twoFactor: 'two_factor',
}

function rowId(model: string, now: Date): string {
  if (model === 'user') return newId('user', now)
  if (model === 'organization') return newId('org', now)
  return newRowId(ROW_KINDS[model] ?? 'verification', now)
}
