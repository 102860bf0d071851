import { type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'

type Person = { org_id: string; user_id: string }
type StoredLabels = { job_id: string; org_id: string; name: string; tags: string[] }
type StoredFavorite = Person & { job_id: string }

declare module '../../platform/db/db.ts' {
  interface Database {
    video_labels: StoredLabels
    video_favorites: StoredFavorite
  }
}

export type LabelsRow = { id: string; name: string; tags: string[]; favorite: boolean }

/** The labels of those of the jobs that the organization has, as this person sees them, in the order of the ids. */
export async function findLabels(db: Db, { org_id, user_id }: Person, ids: readonly string[]): Promise<LabelsRow[]> {
  const { rows } = await sql<LabelsRow>`
    select j.id, coalesce(l.name, '') as name, coalesce(l.tags, '{}') as tags, f.job_id is not null as favorite
    from video_jobs j
      left join video_labels l on l.job_id = j.id and l.org_id = ${org_id}
      left join video_favorites f on f.job_id = j.id and f.org_id = ${org_id} and f.user_id = ${user_id}
    where j.org_id = ${org_id} and j.id = any(${ids}::text[])
    order by array_position(${ids}::text[], j.id)`.execute(db)
  return rows
}

/** Keeps the jobs from being deleted until the transaction ends. Returns whether the organization has all of them. */
export async function keepJobs(tx: Tx, org_id: string, ids: readonly string[]): Promise<boolean> {
  const { rows } = await sql`
    select from video_jobs where org_id = ${org_id} and id = any(${ids}::text[]) order by id for key share`.execute(tx)
  return rows.length === ids.length
}

export type LabelChange = { name: string | null; tags: readonly string[] | null; add_tags: readonly string[] }

/**
 * Changes what is not null of jobs that are kept, and adds the tags that are not among theirs in any case. Returns whether each has at most
 * `tags_max` then; otherwise nothing may be committed.
 */
export async function writeLabels(
  tx: Tx,
  { org_id, ids, tags_max }: { org_id: string; ids: readonly string[]; tags_max: number },
  { name, tags, add_tags }: LabelChange,
): Promise<boolean> {
  const added = sql`${add_tags}::text[]`
  const kept = tags === null ? sql`l.tags` : sql`${tags}::text[]`
  const withAdded = (before: RawBuilder<unknown>) => sql`${before} || array(
    select tag from unnest(${added}) with ordinality as new (tag, place)
    where not exists (select from unnest(${before}) as old (tag) where lower(old.tag) = lower(new.tag)) order by place)`
  const first = tags === null ? added : withAdded(kept)
  const { numAffectedRows } = await sql`
    insert into video_labels as l (job_id, org_id, name, tags)
    select id, ${org_id}, ${name ?? ''}, ${first} from unnest(${ids.toSorted()}::text[]) as id
    where cardinality(${first}) <= ${tags_max}
    on conflict (job_id) do update set name = ${name === null ? sql`l.name` : sql`excluded.name`}, tags = ${withAdded(kept)}
    where l.org_id = ${org_id} and cardinality(${withAdded(kept)}) <= ${tags_max}`.execute(tx)
  await sql`
    delete from video_labels where org_id = ${org_id} and job_id = any(${ids}::text[])
      and name = '' and cardinality(tags) = 0`.execute(tx)
  return numAffectedRows === BigInt(ids.length)
}

/** Makes jobs that are kept favorites of a person, or no longer. */
export async function writeFavorites(
  tx: Tx,
  { org_id, user_id }: Person,
  { ids, favorite }: { ids: readonly string[]; favorite: boolean },
): Promise<void> {
  const jobs = sql`${ids.toSorted()}::text[]`
  await (favorite
    ? sql`insert into video_favorites (job_id, org_id, user_id)
        select id, ${org_id}, ${user_id} from unnest(${jobs}) as id on conflict do nothing`
    : sql`delete from video_favorites where org_id = ${org_id} and user_id = ${user_id} and job_id = any(${jobs})`
  ).execute(tx)
}

/** Videos with a name or tags whose tags are looked at, the newest first. */
const TAGGED_MAX = 5000

/** Tags of the organization's videos, the most used first, each as it is written on the newest one. */
export async function findTags(db: Db, org_id: string, most: number): Promise<string[]> {
  const { rows } = await sql<{ tag: string }>`
    select (array_agg(tag order by job_id desc))[1] as tag
    from (select job_id, tags from video_labels where org_id = ${org_id} order by job_id desc limit ${TAGGED_MAX}) as newest,
      unnest(tags) as tag
    group by lower(tag) order by count(*) desc, lower(tag) limit ${most}`.execute(db)
  return rows.map(({ tag }) => tag)
}

/** Whether a job of a walk has a text in its name or in a tag, in any case. One look into an index for each job, whatever the planner thinks. */
export function isNamedLike(org_id: string, id: RawBuilder<unknown>, text: string): RawBuilder<unknown> {
  return ofLabels(
    org_id,
    id,
    sql`strpos(lower(l.name), lower(${text})) > 0
      or exists (select from unnest(l.tags) as tag where strpos(lower(tag), lower(${text})) > 0)`,
  )
}

/** Whether a job of a walk has a tag, in any case. */
export function isTagged(org_id: string, id: RawBuilder<unknown>, tag: string): RawBuilder<unknown> {
  return ofLabels(org_id, id, sql`exists (select from unnest(l.tags) as tag where lower(tag) = lower(${tag}))`)
}

/** A value for each row: what is written as `exists` or `in` may be answered by all labels of the organization. */
function ofLabels(org_id: string, id: RawBuilder<unknown>, holds: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`coalesce((select ${holds} from video_labels l where l.org_id = ${org_id} and l.job_id = ${id}), false)`
}
