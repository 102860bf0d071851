import assert from 'node:assert/strict'
import type { Context } from '../../context.ts'
import { type Allowed, findAllowedOf, textDigest } from '../moderation/records.ts'
import type { VideoJobRow } from '../store.ts'

/** Nothing reaches an engine without a stored `allow` for that exact text, by its digest under any secret, and those very files. */
export async function requireAllowed(ctx: Context, job: VideoJobRow): Promise<void> {
  const allowed = await ctx.groups.join<string, Allowed | undefined>('moderation-records', job.id, async (ids) => {
    const found = await findAllowedOf(ctx.db, ids)
    return ids.map((id) => found.get(id))
  })
  const text = job.engine_prompt ?? job.prompt
  const isAllowed =
    allowed !== undefined &&
    ctx.secrets.some((secret) => allowed.text_digests.has(textDigest(secret, text))) &&
    job.inputs.every(({ sha256 }) => allowed.file_sha256s.has(sha256))
  assert(isAllowed, `${job.id} has no moderation record that allows its text and files`)
}
