import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ChildrenBusy } from './children/concurrency-limit.ts'
import { runChild } from './children/run.ts'
import { copyShown, type UploadFacts } from './probe/probe.ts'
import { withScratch } from './scratch.ts'
import type { UprightTask } from './upright-child.ts'

type CopyOptions = { owner?: string | undefined; work_dir?: string | undefined; signal?: AbortSignal | undefined }

/** A photo of 50 megapixels takes four seconds of one core. */
const UPRIGHT_SECONDS = 120
const BUSY_SECONDS = 1

/**
 * Makes the copy of an upload that video engines are sent, and gives its path to `use` until that settles. A picture is turned as viewers
 * turn it and written again; a clip or sound keeps its packets, without those that players do not show.
 * Throws ProbeError, ChildError, the reason of `signal`, or what `use` throws.
 */
export async function withEngineCopy<T>(
  path: string,
  { media_type, family }: Pick<UploadFacts, 'media_type' | 'family'>,
  { owner, work_dir, signal }: CopyOptions,
  use: (copy: string) => Promise<T>,
): Promise<T> {
  return await withScratch(work_dir, async (dir) => {
    const to = join(dir, 'copy')
    if (family === 'image') await writeUpright({ path, to }, { owner, signal })
    else await copyShown(path, to, { media_type, kind: family, owner, signal })
    return await use(to)
  })
}

/** Waits for its turn for as long as it takes: a busy machine is no reason to reject a picture. */
async function writeUpright(task: UprightTask, { owner, signal }: CopyOptions): Promise<void> {
  for (;;) {
    try {
      const limits = { owner, signal, kind: 'moderation', time_limit_seconds: UPRIGHT_SECONDS } as const
      await runChild(new URL('./upright-child.ts', import.meta.url), task, limits)
      return
    } catch (error) {
      if (!(error instanceof ChildrenBusy)) throw error
      await pause(BUSY_SECONDS * 1000, undefined, { signal }).catch(() => signal?.throwIfAborted())
    }
  }
}
