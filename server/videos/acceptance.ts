import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { unixSeconds } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { AcceptanceView } from './schema.ts'

/** The agreement of a person, in an organization, to one version of the terms. Never changed and never deleted. */
type AcceptanceRow = { org_id: string; user_id: string; terms_version: string; session_id: string; accepted_at: Date }

declare module '../platform/db/db.ts' {
  interface Database {
    video_acceptances: AcceptanceRow
  }
}

type Person = Pick<Principal, 'org_id' | 'user_id'>

/** Where the video terms in force can be read: the operator's page, or the service's own while the operator has named none. */
export function termsUrl({ config, site }: Pick<Context, 'config' | 'site'>): string {
  return config.terms.url ?? `${site.public_url}/terms`
}

/** Throws ApiError `agreement_required` unless this very person has agreed to the current terms in this organization. */
export async function requireAcceptance(
  ctx: Pick<Context, 'db' | 'config' | 'site' | 'groups'>,
  person: Person,
): Promise<void> {
  const { version } = ctx.config.terms
  const hasAccepted = await ctx.groups.join('video-acceptances', person, (people) =>
    haveAccepted(ctx.db, people, version),
  )
  if (hasAccepted) return
  const text = `Agree to the video terms ${version} (${termsUrl(ctx)}) in the console first. Each person agrees for themselves; an API key cannot.`
  throw new ApiError('agreement_required', text)
}

/** The latest agreement of the person, and the terms now in force. */
export async function readAcceptance(
  ctx: Pick<Context, 'db' | 'config' | 'site'>,
  person: Person,
): Promise<Static<typeof AcceptanceView>> {
  const { version } = ctx.config.terms
  const rows = await acceptances(ctx.db, person).orderBy('accepted_at', 'desc').execute()
  const latest = rows[0]
  return {
    object: 'video_terms_acceptance',
    terms_version: version,
    terms_url: termsUrl(ctx),
    accepted: rows.some(({ terms_version }) => terms_version === version),
    accepted_version: latest?.terms_version ?? null,
    accepted_at: latest ? unixSeconds(latest.accepted_at) : null,
    user_id: person.user_id,
    organization_id: person.org_id,
  }
}

/**
 * Records the agreement of the signed-in person to the version they were shown; repeating keeps the first.
 * Throws ApiError `terms_version_mismatch` for any version but the current one.
 */
export async function acceptTerms(
  ctx: Pick<Context, 'db' | 'config' | 'clock'>,
  principal: Principal & { session_id: string },
  terms_version: string,
): Promise<void> {
  const { version } = ctx.config.terms
  if (terms_version !== version) {
    const text = `The current terms are version '${version}'. Read them and agree to that version.`
    throw new ApiError('terms_version_mismatch', text, { param: 'terms_version' })
  }
  const { org_id, user_id, session_id } = principal
  await ctx.db
    .insertInto('video_acceptances')
    .values({ org_id, user_id, terms_version, session_id, accepted_at: ctx.clock.now() })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** For each of the people, whether they agreed to this version in that organization. One query for all. */
async function haveAccepted(db: Db, people: readonly Person[], version: string): Promise<boolean[]> {
  const [org_ids, user_ids] = [people.map(({ org_id }) => org_id), people.map(({ user_id }) => user_id)]
  const { rows } = await sql<Person>`
    select org_id, user_id from video_acceptances
    where terms_version = ${version} and (org_id, user_id) in (
      select * from unnest(${org_ids}::text[], ${user_ids}::text[]))`.execute(db)
  const accepted = new Set(rows.map(({ org_id, user_id }) => `${org_id}/${user_id}`))
  return people.map(({ org_id, user_id }) => accepted.has(`${org_id}/${user_id}`))
}

function acceptances(db: Db, { org_id, user_id }: Person) {
  return db.selectFrom('video_acceptances').selectAll().where('org_id', '=', org_id).where('user_id', '=', user_id)
}
