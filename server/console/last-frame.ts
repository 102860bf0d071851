import { FileObject, fileView } from '../files/schema.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { notFound } from '../platform/errors.ts'
import { whileConnected } from '../platform/http/abort-on-disconnect.ts'
import { isId } from '../platform/ids.ts'
import type { Gates } from '../videos/create/create.ts'
import { lastFrameFile } from '../videos/last-frame.ts'

/** Makes the picture with which a clip is continued. */
export function lastFrameRoute(gates: Gates): Route {
  return route({
    method: 'POST',
    path: '/console/videos/:video_id/last_frame',
    auth: 'session',
    counted: true,
    summary: 'Make a file of the last frame of a completed video',
    description:
      'A picture with purpose `vision`, as a first frame has. The same file is returned for as long as it lives; a new one belongs to you and counts as an upload of yours.',
    response: FileObject,
    errors: ['invalid_request_error', 'conflict', 'insufficient_credits', 'storage_limit_exceeded'],
    async handle(ctx, { principal, params, request }) {
      const { video_id: id } = params as { video_id: string }
      if (!isId('video', id)) throw notFound('video')
      return fileView(
        await whileConnected(request.raw, (signal) => lastFrameFile(ctx, gates, principal, { id, signal })),
      )
    },
  })
}
