import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { namesTag } from '../platform/http/byte-range.ts'
import { videoView } from './schema.ts'
import type { VideoJobRow } from './store.ts'

type Answer = { text: string; etag: string }

/** Answers of rows that the cache keeps: most polls are of a row that was polled before. */
const answers = new WeakMap<VideoJobRow, Answer>()
/** Longer answers are made again each time, so that rows with long prompts take their memory once. */
const KEPT_LENGTH_MAX = 4096

function answerOf(job: VideoJobRow): Answer {
  const kept = answers.get(job)
  if (kept) return kept
  const text = JSON.stringify(videoView(job))
  const answer = { text, etag: `W/"${hash('sha1', text, 'base64url')}"` }
  if (text.length <= KEPT_LENGTH_MAX) answers.set(job, answer)
  return answer
}

/** The job with its entity tag; `304` when the poller has it already. */
export function sendPolled(request: FastifyRequest, reply: FastifyReply, job: VideoJobRow): unknown {
  const { text, etag } = answerOf(job)
  reply.header('etag', etag).header('cache-control', 'private, no-cache')
  const known = request.headers['if-none-match']
  if (known !== undefined && namesTag(known, etag.slice(2))) return reply.status(304).send()
  return reply.type('application/json; charset=utf-8').send(text)
}
