import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Route, route } from '../../identity/caller/route.ts'
import { unixSeconds } from '../../platform/clock.ts'
import { ApiError } from '../../platform/errors.ts'
import { addressOf, networkOf } from '../../platform/http/client-address.ts'
import { pageOf } from '../../platform/http/list.ts'
import { pageLanguage, sendUnlistedPage, UNLISTED } from '../../platform/http/page.ts'
import { sendContent } from '../content.ts'
import type { Variants } from '../variants/prepare.ts'
import { FORMS } from '../variants/variant.ts'
import { createShareLink, readSharedClip, readShareLinks, revokeShareLink } from './links.ts'
import { endedPage, sharedPage } from './page.ts'
import { CreatedShareLink, CreateShareLink, DeletedShareLink, ShareLinkList, type ShareLinkView } from './schema.ts'
import type { ShareLinkRow } from './store.ts'

const OF_VIDEO = '/console/videos/:video_id/share_links'
const PAGE = '/s/:token'

const create = route({
  method: 'POST',
  path: OF_VIDEO,
  auth: 'session',
  summary: 'Make a link that shows a completed video without an account',
  description:
    'Members share their own videos; owners and admins all. The address is in this response and never again.',
  body: CreateShareLink,
  response: CreatedShareLink,
  errors: ['conflict', 'permission_denied'],
  example: { expires_in_days: 7 },
  async handle(ctx, { principal, params, body: { expires_in_days: days, download = false } }) {
    const { link, token } = await createShareLink(ctx, principal, { video_id: params.video_id!, days, download })
    return { ...linkView(link), url: `${ctx.site.public_url}/s/${token}` }
  },
})

const list = route({
  method: 'GET',
  path: OF_VIDEO,
  auth: 'session',
  summary: 'List the share links of a video that have not ended, newest first',
  description: 'At most 20, each without its address.',
  response: ShareLinkList,
  errors: ['permission_denied'],
  async handle(ctx, { principal, params }) {
    const links = await readShareLinks(ctx, principal, params.video_id!)
    return pageOf(links, links.length, linkView)
  },
})

const revoke = route({
  method: 'DELETE',
  path: '/console/share_links/:share_link_id',
  auth: 'session',
  summary: 'Revoke a share link for good',
  description: 'The next request for its page or its video is 404; a download that has begun goes on.',
  response: DeletedShareLink,
  errors: ['permission_denied'],
  async handle(ctx, { principal, params }) {
    const id = params.share_link_id!
    await revokeShareLink(ctx, principal, id)
    return { id, object: 'share_link', deleted: true }
  },
})

const readPage = route({
  method: 'GET',
  path: PAGE,
  auth: 'none',
  summary: 'The page of a share link',
  internal: true,
  response_type: 'text/html',
  async handle(ctx, { params, request, reply }) {
    const token = params.token!
    const clip = await readSharedClip(ctx, token)
    if (!clip) return sendEnded(request, reply, token)
    return sendUnlistedPage(reply, 200, sharedPage(pageLanguage(request), { token, ...clip }))
  },
})

const readContent = (variants: Variants) =>
  route({
    method: 'GET',
    path: `${PAGE}/content`,
    auth: 'none',
    summary: 'The video of a share link',
    internal: true,
    response_type: FORMS.video.media_type,
    async handle(ctx, { params, request, reply }) {
      const token = params.token!
      const clip = await readSharedClip(ctx, token)
      if (!clip) return sendEnded(request, reply, token)
      try {
        const places = { network: networkOf(addressOf(request)) }
        const shown = { disposition: 'inline', filename: null, headers: UNLISTED, places } as const
        return await sendContent(ctx, variants, { job: clip.job, variant: 'video', shown }, { request, reply })
      } catch (error) {
        // Deleted since.
        if (error instanceof ApiError && error.code === 'not_found') return sendEnded(request, reply, token)
        throw error
      }
    },
  })

/** What people do with share links, and what a link shows to whoever has it. */
export function sharingRoutes(variants: Variants): readonly Route[] {
  return [create, list, revoke, readPage, readContent(variants)]
}

/** The one answer where there is nothing to see: it does not say why. */
function sendEnded(request: FastifyRequest, reply: FastifyReply, token: string): FastifyReply {
  return sendUnlistedPage(reply, 404, endedPage(pageLanguage(request), token))
}

function linkView({ id, video_id, hint, download, created_at, expires_at }: ShareLinkRow): ShareLinkView {
  const times = { created_at: unixSeconds(created_at), expires_at: unixSeconds(expires_at) }
  return { id, object: 'share_link', video_id, hint, download, ...times }
}
