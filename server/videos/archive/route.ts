import { Readable } from 'node:stream'
import Type from 'typebox'
import { route } from '../../identity/caller/route.ts'
import type { Blobs } from '../../platform/blobs/blobs.ts'
import { BlobMissing } from '../../platform/blobs/blobs.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import { openShares } from '../../platform/fair-queue.ts'
import { abortOnLeaving } from '../../platform/http/abort-on-disconnect.ts'
import { IDLE_SECONDS } from '../../platform/http/send-bytes.ts'
import { clipName } from './clip-name.ts'
import { type ArchivedJob, findArchivedJobs } from './store.ts'
import { type ZipEntry, zipOf } from './zip.ts'

const IDS_MAX = 100
/**
 * Archives of one organization that are made and sent at a time: each asks the storage for the size of every clip, and then keeps a reader of it
 * for as long as its client reads.
 */
const sendInTurn = openShares({ each: 4 })

const Query = Type.Object({
  ids: Type.String({ minLength: 1, maxLength: 8192, description: 'Ids of videos, with commas between, at most 100.' }),
})

export const readArchive = route({
  method: 'GET',
  path: '/console/videos/archive',
  auth: 'session',
  counted: true,
  summary: 'Download the clips of several videos as one ZIP archive',
  description:
    'Stored, not compressed. `manifest.json` in it has the id of each file, and the videos without a clip, which are left out. 400 when none has one.',
  query: Query,
  response_type: 'application/zip',
  headers: { 'content-disposition': 'always', 'cache-control': 'always', 'x-content-type-options': 'always' },
  errors: ['not_found', 'invalid_request_error'],
  async handle(ctx, { principal: { org_id }, query, request, reply }) {
    const ids = [...new Set(query.ids.split(','))]
    if (ids.length > IDS_MAX) throw new ApiError('invalid_value', `At most ${IDS_MAX} ids at once.`, { param: 'ids' })
    const { signal } = abortOnLeaving(reply)
    await sendInTurn(
      org_id,
      async () => {
        if (signal.aborted) return
        // Not before its turn: thousands may wait, and the rows of 100 videos hold their prompts.
        const jobs = await findArchivedJobs(ctx.db, org_id, ids)
        if (jobs.length < ids.length) throw notFound('video')
        const now = ctx.clock.now()
        const { size_bytes, bytes } = zipOf(await entriesOf(ctx.blobs, jobs, now))
        reply
          .header('content-type', 'application/zip')
          .header('content-length', size_bytes)
          .header('content-disposition', `attachment; filename="videos-${now.toISOString().slice(0, 10)}.zip"`)
          .header('cache-control', 'private, no-store')
          .header('x-content-type-options', 'nosniff')
        if (request.method === 'HEAD') return void reply.send('')
        const closed = new Promise<void>((resolve) => reply.raw.once('close', resolve))
        if (reply.raw.destroyed) return
        reply.raw.setTimeout(IDLE_SECONDS * 1000, () => reply.raw.destroy())
        void reply.send(Readable.from(bytes, { objectMode: false }))
        await closed
      },
      signal,
    )
    return reply
  },
})

/** The manifest and the clips. Throws ApiError `invalid_request_error` when there are no clips. */
async function entriesOf(blobs: Blobs, jobs: readonly ArchivedJob[], now: Date): Promise<ZipEntry[]> {
  const stored = await Promise.all(jobs.map(({ blob_key }) => blob_key !== null && isThere(blobs, blob_key)))
  const taken = new Set<string>()
  const files: Array<ZipEntry & { id: string }> = []
  const left_out: Array<{ id: string; status: string }> = []
  for (const [at, job] of jobs.entries()) {
    const { id, status, blob_key: key, output_size_bytes: size } = job
    if (key === null || size === null || !stored[at]) left_out.push({ id, status })
    else {
      const name = uniqueName(clipName(job), taken)
      files.push({ id, name, size_bytes: Number(size), modified_at: job.created_at, open: () => blobs.open(key) })
    }
  }
  if (files.length === 0) {
    throw new ApiError('invalid_request_error', 'None of these videos has a clip. Name one that is completed.', {
      param: 'ids',
    })
  }
  const videos = files.map(({ id, name: file }) => ({ id, file }))
  const manifest = Buffer.from(`${JSON.stringify({ videos, left_out }, null, 2)}\n`)
  const open = async () => Readable.from([manifest])
  return [...files, { name: 'manifest.json', size_bytes: manifest.length, modified_at: now, open }]
}

/** A clip may be missing after a restore of an incomplete backup. */
async function isThere(blobs: Blobs, key: string): Promise<boolean> {
  try {
    await blobs.size(key)
    return true
  } catch (error) {
    if (error instanceof BlobMissing) return false
    throw error
  }
}

/** Some file systems take upper and lower case, and composed and decomposed characters, for the same. */
function uniqueName(name: string, taken: Set<string>): string {
  const stem = name.replace(/\.mp4$/, '')
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? name : `${stem} (${number}).mp4`
    const folded = candidate.normalize('NFC').toLowerCase()
    if (taken.has(folded)) continue
    taken.add(folded)
    return candidate
  }
}
