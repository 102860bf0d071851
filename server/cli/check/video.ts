import { randomInt } from 'node:crypto'
import type { Static } from 'typebox'
import { formatMoney } from '../../platform/money.ts'
import type { AcceptanceView } from '../../videos/schema.ts'
import { openProgress } from '../progress.ts'
import { formatBytes } from '../units.ts'
import { followJob, submitJob } from '../video-run.ts'
import { CAUSES, expect } from './failure.ts'
import { download, expectSame, rememberLost } from './files.ts'
import type { Quote } from './quote.ts'
import type { Target } from './target.ts'

/** Longer than any render may take by default: the service ends a job that is later. */
const JOB_SECONDS = 24 * 3600

/** Whether the key's owner has accepted the video terms: no API key can. Throws StepFailure. Source: docs/contract.md, 6. */
export async function checkTerms({ ask, api }: Target): Promise<string> {
  const path = '/v1/videos/acceptance'
  const { accepted, terms_version, terms_url, user_id } = await ask<Static<typeof AcceptanceView>>('GET', path)
  expect(accepted, {
    sent: `GET ${path}`,
    received: `accepted: false, by ${user_id} of version ${terms_version}`,
    cause: `Only the owner of this key can accept the video terms, once, after a login: a key cannot. Open ${api.base_url}/videos, sign in as that person, choose the organization of the key, read the terms (${terms_url}) and choose "Accept terms". Then run this again.`,
  })
  return `${terms_version} accepted`
}

/** Renders the shortest clip, downloads it and deletes the job. Throws StepFailure. */
export async function checkVideo(target: Target, video: NonNullable<Quote['video']>): Promise<string> {
  const { model, seconds, aspect_ratio, cost } = video
  const prompt = `A paper boat on a calm lake at dawn, take ${randomInt(1_000_000)}`
  const sent = `POST /v1/videos, ${seconds} s of ${model}`
  const body = { model, prompt, seconds, aspect_ratio }
  const job = await target
    .within(JOB_SECONDS, sent, (signal) => submitJob(target.api, body, signal))
    .catch(async (error) => {
      await rememberLost(target, '/v1/videos', (entry) => entry.prompt === prompt)
      throw error
    })
  const path = `/v1/videos/${job.id}`
  target.created(path)
  expect(job.cost === formatMoney(cost), {
    sent,
    received: `a job that costs ${job.cost}, not ${formatMoney(cost)}`,
    cause: 'The price was changed in the meantime. The job is canceled: run this again.',
  })
  const progress = process.stderr.isTTY ? openProgress(process.stderr) : { show() {}, done() {} }
  const ended = await target.within(JOB_SECONDS, `GET ${path}`, (signal) =>
    followJob(target.api, job, progress, signal),
  )
  expect(ended.status === 'completed', {
    sent,
    received: ended.error ? `${ended.error.code}: ${ended.error.message}` : `a job that is ${ended.status}`,
    cause: causeOfEnd(ended.error?.code),
  })
  const clip = await download(target, `${path}/content`)
  expectSame(`GET ${path}/content`, clip)
  await target.remove(path)
  return `${seconds} s of ${model}, ${formatBytes(clip.size_bytes)} with its sha256, deleted; ${job.cost} ${job.currency}`
}

/** Source: docs/contract.md, 4.4. */
function causeOfEnd(code: string | undefined): string {
  if (code === undefined) return 'Somebody canceled the job.'
  if (code === 'moderation_blocked')
    return 'Moderation blocks a harmless prompt: on a node, `kinora engines check moderation`.'
  if (code === 'moderation_unavailable')
    return 'Moderation does not answer, and nothing is rendered unjudged: on a node, `kinora engines check moderation`.'
  if (code === 'translation_unavailable') return 'On a node, `kinora engines check translation`.'
  if (code === 'queue_timeout')
    return 'No node works on jobs (--role), none knows the model, or its engine is full: `kinora admin nodes`.'
  if (code === 'internal_error') return 'A fault of Kinora. The log of the node has the reason.'
  return CAUSES.engine
}
