import type { Principal } from '../../identity/caller/principal.ts'
import { type Route, route } from '../../identity/caller/route.ts'
import type { Tx } from '../../platform/db/db.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import { abortOnLeaving } from '../../platform/http/abort-on-disconnect.ts'
import { walkInTurn } from '../list/route.ts'
import { ChangeLabels, LABELS_MAX, type Labels, LabelsList, LabelsQuery, TagList } from './schema.ts'
import {
  findLabels,
  findTags,
  keepJobs,
  type LabelChange,
  type LabelsRow,
  writeFavorites,
  writeLabels,
} from './store.ts'

const readLabels = route({
  method: 'GET',
  path: '/console/videos/labels',
  auth: 'session',
  summary: 'What these videos are called, their tags, and whether they are favorites of yours',
  description: 'What is gone, or another organization’s, is left out.',
  query: LabelsQuery,
  response: LabelsList,
  async handle(ctx, { principal, query }) {
    const ids = [...new Set(query.ids.split(','))]
    const most = LABELS_MAX.ids_read
    if (ids.length > most) throw new ApiError('invalid_value', `At most ${most} ids at once.`, { param: 'ids' })
    return labelsList(await findLabels(ctx.db, principal, ids))
  },
})

const changeLabels = route({
  method: 'PATCH',
  path: '/console/videos/labels',
  auth: 'session',
  summary: 'Name and tag videos, and make them favorites of yours',
  description:
    'Only the members that are sent are changed, of all the videos or of none. Everybody in the organization sees names and tags, and may change them.',
  body: ChangeLabels,
  response: LabelsList,
  errors: ['not_found'],
  example: { ids: ['video_01JZ8Q2W7N5X4V3B6M9K0H1TCD'], name: 'Opening shot', tags: ['launch'], favorite: true },
  async handle(ctx, { principal, body }) {
    return ctx.db.transaction().execute((tx) => applyChange(tx, principal, body))
  },
})

const listTags = route({
  method: 'GET',
  path: '/console/videos/tags',
  auth: 'session',
  summary: 'Which tags the videos of this organization have',
  description: 'The most used first, of the newest 5,000 videos with a name or tags; at most 500.',
  response: TagList,
  async handle(ctx, { principal: { org_id }, reply }) {
    const { signal } = abortOnLeaving(reply)
    const tags = await walkInTurn(org_id, () => findTags(ctx.db, org_id, LABELS_MAX.tags_listed), signal)
    return { object: 'list', data: tags.map((id) => ({ id, object: 'video_tag' })) }
  },
})

export const labelRoutes: readonly Route[] = [readLabels, changeLabels, listTags]

/** Throws ApiError `not_found` for a video that the organization does not have, `invalid_value` for too many tags. */
async function applyChange(tx: Tx, principal: Principal, body: ChangeLabels) {
  const { org_id } = principal
  const { name, tags, add_tags = [], favorite } = body
  const ids = [...new Set(body.ids)]
  if (!(await keepJobs(tx, org_id, ids))) throw notFound('video')
  const change: LabelChange = {
    name: name === undefined ? null : onOneLine(name),
    tags: tags ? distinct(tags) : null,
    add_tags: distinct(add_tags),
  }
  if (change.name !== null || change.tags !== null || add_tags.length > 0) {
    const tags_max = LABELS_MAX.tags
    if (!(await writeLabels(tx, { org_id, ids, tags_max }, change))) {
      const message = `A video has at most ${tags_max} tags, and one of these would have more. Remove some of its tags first.`
      throw new ApiError('invalid_value', message, { param: 'add_tags' })
    }
  }
  if (favorite !== undefined) await writeFavorites(tx, principal, { ids, favorite })
  return labelsList(await findLabels(tx, principal, ids))
}

function labelsList(rows: readonly LabelsRow[]): { object: 'list'; data: Labels[] } {
  return {
    object: 'list',
    data: rows.map(({ id, name, tags, favorite }) => ({
      id,
      object: 'video_labels',
      name: name === '' ? null : name,
      tags,
      favorite,
    })),
  }
}

/** Each once, whatever its case. */
function distinct(tags: readonly string[]): string[] {
  const first = new Map<string, string>()
  for (const tag of tags.map(onOneLine)) if (!first.has(tag.toLowerCase())) first.set(tag.toLowerCase(), tag)
  return [...first.values()]
}

function onOneLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim()
}
