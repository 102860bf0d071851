import { type Route, route } from '../identity/caller/route.ts'
import { whileConnected } from '../platform/http/abort-on-disconnect.ts'
import { CREATE_ERRORS, type Gates, submitVideos } from '../videos/create/create.ts'
import { readIdempotencyKey } from '../videos/create/idempotency.ts'
import { CreateVariations, Variations } from '../videos/schema.ts'

/** Several jobs of one request, for a person who chooses among their clips. Each has a seed of its own, since seeds follow from ids. */
export function variationsRoute(gates: Gates): Route {
  return route({
    method: 'POST',
    path: '/console/videos/variations',
    auth: 'session',
    counted: true,
    plain_400: true,
    summary: 'Submit 1 to 4 video jobs of one request, all or none',
    description:
      'As `POST /v1/videos`, with `count` in its body. The cost of all of them is reserved and a render slot is taken for each, or none of them exists.',
    body: CreateVariations,
    body_check: 'handler',
    response: Variations,
    idempotent: true,
    headers: { 'idempotent-replayed': 'sometimes' },
    errors: CREATE_ERRORS,
    example: {
      count: 3,
      model: 'storyboard-1',
      prompt: 'A paper boat on a calm lake.',
      seconds: 5,
      aspect_ratio: '16:9',
    },
    async handle(ctx, { principal, request, reply }) {
      const { id: request_id, body, headers } = request
      const idempotency_key = readIdempotencyKey(headers['idempotency-key'])
      const sent = { request_id, idempotency_key, body, has_count: true, frame: null }
      const { videos, replayed } = await whileConnected(request.raw, (signal) =>
        submitVideos(ctx, gates, principal, { ...sent, signal }),
      )
      request.created = { video_id: videos.map(({ id }) => id).join(',') }
      if (replayed) reply.header('idempotent-replayed', 'true')
      return { object: 'list', data: videos }
    },
  })
}
