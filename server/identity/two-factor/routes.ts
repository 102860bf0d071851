import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../platform/errors.ts'
import { requireSameOrigin } from '../caller/csrf.ts'
import type { Principal } from '../caller/principal.ts'
import { type Route, route } from '../caller/route.ts'
import { beginSession, callerOf } from '../login/begin-session.ts'
import type { Identity } from '../open.ts'
import {
  ConfirmTwoFactor,
  ConsoleSession,
  EnrolTwoFactor,
  ProveTwoFactor,
  RecoveryCodes,
  SecondFactor,
  TwoFactor,
  TwoFactorEnrolment,
} from '../schema.ts'
import {
  confirmTwoFactor,
  disableTwoFactor,
  enrolTwoFactor,
  type Holder,
  type Proof,
  recoveryCodesLeft,
  renewRecoveryCodes,
  signInBySecondFactor,
} from './two-factor.ts'

/** The second factor: six digits of an app beside the password. */
export function twoFactorRoutes(identity: Identity): Route[] {
  return [secondStep(identity), readState(identity), ...changes(identity), ...recoveryCodes(identity)]
}

function secondStep(identity: Identity): Route {
  return route({
    method: 'POST',
    path: '/console/auth/sign-in/two-factor',
    auth: 'none',
    summary: 'Complete a sign-in with the second factor',
    description: 'A code of the app, or a recovery code, after the password was accepted.',
    body: SecondFactor,
    response: ConsoleSession,
    headers: { 'cache-control': 'always', 'set-cookie': 'always' },
    errors: ['missing_api_key', 'invalid_api_key', 'conflict', 'rate_limit_exceeded'],
    example: { code: '123456' },
    async handle(ctx, { body, request, reply }) {
      requireSameOrigin(request)
      requireOneProof(body)
      const attempt = { ...body, ...callerOf(request), cookie: request.headers.cookie ?? '' }
      const { end_challenge, ...signedIn } = await signInBySecondFactor(identity.login, attempt)
      const session = await beginSession(ctx, identity, { request, reply }, signedIn)
      reply.header('set-cookie', end_challenge)
      return session
    },
  })
}

function readState({ login }: Identity): Route {
  return route({
    method: 'GET',
    path: '/console/two_factor',
    auth: 'session',
    summary: 'Whether your second factor is on',
    description: 'With the number of recovery codes that are left.',
    response: TwoFactor,
    async handle(_ctx, { principal }) {
      const recovery_codes_left = await recoveryCodesLeft(login, principal.user_id)
      return { object: 'two_factor', enabled: recovery_codes_left !== null, recovery_codes_left }
    },
  })
}

function changes(identity: Identity): Route[] {
  const { login, callers } = identity
  const enrol = route({
    method: 'POST',
    path: '/console/two_factor',
    auth: 'session',
    summary: 'Get a secret for an app; it counts once confirmed',
    description: 'Replaces a secret that was not confirmed.',
    body: EnrolTwoFactor,
    response: TwoFactorEnrolment,
    errors: ['conflict'],
    example: { password: 'a long password' },
    async handle(_ctx, { principal, body, request, reply }) {
      const made = await enrolTwoFactor(login, { ...body, ...holderOf(principal, request) })
      reply.header('cache-control', 'no-store')
      return { object: 'two_factor_enrolment', ...made }
    },
  })
  const confirm = route({
    method: 'POST',
    path: '/console/two_factor/confirm',
    auth: 'session',
    summary: 'Turn the second factor on with a first code; every other session of yours ends',
    description: 'The recovery codes in the answer are not shown again.',
    body: ConfirmTwoFactor,
    response: RecoveryCodes,
    headers: { 'set-cookie': 'always' },
    errors: ['conflict'],
    example: { code: '123456' },
    async handle(ctx, { principal, body, request, reply }) {
      const holder = { ...body, ...holderOf(principal, request) }
      const { session, recovery_codes } = await confirmTwoFactor(login, holder)
      callers.forget(`user:${principal.user_id}`)
      await beginSession(ctx, identity, { request, reply }, session, principal.org_id)
      return { object: 'recovery_codes', recovery_codes }
    },
  })
  const disable = route({
    method: 'POST',
    path: '/console/two_factor/disable',
    auth: 'session',
    summary: 'Turn the second factor off; every other session of yours ends',
    description: 'Needs the password and a code.',
    body: ProveTwoFactor,
    response: ConsoleSession,
    headers: { 'set-cookie': 'always' },
    errors: ['conflict'],
    example: { password: 'a long password', code: '123456' },
    async handle(ctx, { principal, body, request, reply }) {
      requireOneProof(body)
      const session = await disableTwoFactor(login, { ...body, ...holderOf(principal, request) })
      callers.forget(`user:${principal.user_id}`)
      return beginSession(ctx, identity, { request, reply }, session, principal.org_id)
    },
  })
  return [enrol, confirm, disable]
}

function recoveryCodes({ login }: Identity): Route[] {
  const renew = route({
    method: 'POST',
    path: '/console/two_factor/recovery_codes',
    auth: 'session',
    summary: 'Replace your recovery codes',
    description: 'Those of before are no longer good.',
    body: ProveTwoFactor,
    response: RecoveryCodes,
    errors: ['conflict'],
    example: { password: 'a long password', code: '123456' },
    async handle(_ctx, { principal, body, request, reply }) {
      requireOneProof(body)
      const recovery_codes = await renewRecoveryCodes(login, { ...body, ...holderOf(principal, request) })
      reply.header('cache-control', 'no-store')
      return { object: 'recovery_codes', recovery_codes }
    },
  })
  return [renew]
}

function holderOf(principal: Principal, request: FastifyRequest): Holder {
  return { user_id: principal.user_id, cookie: request.headers.cookie ?? '', ...callerOf(request) }
}

function requireOneProof({ code, recovery_code }: Proof): void {
  if (code === undefined && recovery_code === undefined)
    throw new ApiError('missing_required_parameter', "Missing required parameter: 'code'.", { param: 'code' })
  if (code !== undefined && recovery_code !== undefined)
    throw new ApiError('invalid_value', "Invalid 'recovery_code': send it instead of 'code'.", {
      param: 'recovery_code',
    })
}
