import { createServer, request, type ServerResponse } from 'node:http'
import type { VideoView } from '../../../server/videos/schema.ts'
import { close, listen } from '../listen.ts'

/**
 * A service whose live events are those of `send`, for more jobs than engines would render here. Everything else is answered by the
 * service at `url`. `port`: a free one when not given.
 */
export async function startLiveJobs(url: string, port = 0) {
  const streams = new Set<ServerResponse>()
  const server = createServer((asked, answer) => {
    if (asked.url === '/console/events') {
      answer.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
      answer.write('event: ready\ndata: {}\n\n')
      streams.add(answer.on('close', () => streams.delete(answer)))
      return
    }
    const { method, headers } = asked
    const passed = request(new URL(asked.url!, url), { method, headers }, (response) => {
      answer.writeHead(response.statusCode!, response.headers)
      response.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    asked.pipe(passed)
  })
  return {
    url: `http://127.0.0.1:${await listen(server, '127.0.0.1', port)}`,
    /** One event for each job, in one piece. */
    send(jobs: ReadonlyArray<VideoView | { id: string; object: 'video'; deleted: true }>) {
      const text = jobs.map((job) => `event: video\ndata: ${JSON.stringify(job)}\n\n`).join('')
      for (const stream of streams) stream.write(text)
    },
    close: () => close(server),
  }
}

/** Running jobs, oldest first, whose ids sort as those of the service do. */
export function runningJobs(count: number): VideoView[] {
  const created_at = Math.floor(Date.now() / 1000)
  return Array.from({ length: count }, (_, n) => ({
    id: `video_7${String(n).padStart(25, '0')}`,
    object: 'video',
    model: 'instant-1',
    prompt: `Job ${n}`,
    seconds: 4,
    status: 'in_progress',
    error: null,
    cost: '0.04000000',
    currency: 'usd',
    created_at,
    ...{
      completed_at: null,
      progress: 0,
      aspect_ratio: '16:9',
      image_reference: null,
      references: null,
      expires_at: null,
    },
  }))
}
