import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Context } from '../../context.ts'
import type { RenderInput, RenderRequest } from '../../engines/video/contract.ts'
import { signFileUrl } from '../../files/sign.ts'
import { outputSize } from '../../media/aspect.ts'
import type { ProbeResult } from '../../media/probe/probe.ts'
import { isMediaFault, rejectInput } from '../input-problem.ts'
import { type JobFile, probeInput } from '../inputs.ts'
import type { Outcome } from '../job.ts'
import type { VideoJobRow } from '../store.ts'
import type { ServedModel } from './served-model.ts'

/** The request to the engine, after the preflight of every input; an outcome instead when one cannot be used. */
export async function buildRequest(
  ctx: Context,
  job: VideoJobRow,
  { files, served, attempt_id }: { files: readonly JobFile[]; served: ServedModel; attempt_id: string },
): Promise<RenderRequest | Outcome> {
  const inputs: RenderInput[] = []
  for (const input of files) {
    const probe = await preflight(ctx, job, input)
    if (probe === null) return fileGone(job)
    if ('to' in probe) return probe
    inputs.push(renderInput(ctx, input, { probe, pin: job.id, ttl_seconds: served.signed_url_ttl_seconds }))
  }
  return {
    job_id: job.id,
    attempt_id,
    model: served.model,
    prompt: job.engine_prompt ?? job.prompt,
    original_prompt: job.prompt,
    seconds: job.seconds,
    aspect_ratio: job.aspect_ratio,
    ...outputSize(job.aspect_ratio, inputs),
    // Where recovery has only the engine's list, the seed distinguishes attempts; elsewhere every attempt of a job gets the same seed.
    seed: seedOf(served.engine.capabilities(served.model).idempotency === 'none' ? attempt_id : job.id),
    inputs,
  }
}

/** The outcome of a job whose file is gone. After its first render began, the reason is that render's failure. */
export function fileGone(job: VideoJobRow): Outcome {
  return { to: 'failed', code: job.status === 'queued' ? 'reference_unavailable' : 'render_failed' }
}

/** Null when the bytes are gone or no longer those that were stored. */
async function preflight(ctx: Context, job: VideoJobRow, input: JobFile): Promise<ProbeResult | Outcome | null> {
  try {
    return await probeInput(ctx, input, { owner: job.org_id })
  } catch (error) {
    if (isMediaFault(error)) return rejectInput(ctx, job, input, error)
    throw error
  }
}

/** A stored file for an engine: its bytes, or a URL that is signed on demand and expires with the job. */
function renderInput(
  ctx: Context,
  { role, file }: JobFile,
  { probe, pin, ...defaults }: { probe: ProbeResult; pin: string; ttl_seconds: number },
): RenderInput {
  const { media_type, size_bytes, blob_key } = file
  return {
    role,
    media_type,
    size_bytes,
    probe,
    open: async () => Readable.toWeb(await ctx.blobs.open(blob_key)) as ReadableStream<Uint8Array>,
    signedUrl: async (ttl_seconds = defaults.ttl_seconds) =>
      signFileUrl({
        secret: ctx.secret,
        base_url: ctx.site.engine_url,
        file,
        now: ctx.clock.now(),
        ttl_seconds,
        pin,
      }),
  }
}

function seedOf(id: string): number {
  return createHash('sha256').update(id).digest().readUInt32BE(0) & 0x7fffffff
}
