import { type QueryClient, queryOptions, useQueries } from '@tanstack/react-query'
import { failureOf } from '../../api/failure.ts'
import { request } from '../../api/request.ts'
import type { StoredFile } from '../../api/upload.ts'
import type { Slot } from '../draft/attachments.ts'
import type { VideoJob } from '../jobs/job.ts'

/** A file that a job was submitted with, and what as. */
export type SubmittedFile = { slot: Slot; id: string }

/** In the order in which they were submitted. */
function submittedFiles({ image_reference, references }: VideoJob): SubmittedFile[] {
  const lists = (['images', 'videos', 'audio'] as const).flatMap((slot) =>
    (references?.[slot] ?? []).map(({ file_id }) => ({ slot, id: file_id })),
  )
  return [...(image_reference ?? []).map(({ role, file_id }) => ({ slot: role, id: file_id })), ...lists]
}

/** The files of a job as they are stored: `undefined` while one is read, null when it was deleted or has expired. */
export function useSubmittedFiles(job: VideoJob): Array<SubmittedFile & { file: StoredFile | null | undefined }> {
  const files = submittedFiles(job)
  const results = useQueries({ queries: files.map(({ id }) => fileQuery(id)) })
  return files.map((file, at) => ({ ...file, file: results[at]!.data }))
}

/** As `useSubmittedFiles`, once all of them are read. Rejects when the service cannot be asked. */
export function readSubmittedFiles(queries: QueryClient, job: VideoJob) {
  return Promise.all(
    submittedFiles(job).map(async (file) => ({ ...file, file: await queries.fetchQuery(fileQuery(file.id)) })),
  )
}

function fileQuery(id: string) {
  return queryOptions({
    queryKey: ['files', 'one', id],
    queryFn: async ({ signal }): Promise<StoredFile | null> => {
      try {
        return await request<StoredFile>('GET', `/v1/files/${encodeURIComponent(id)}`, { signal })
      } catch (error) {
        if (failureOf(error).status === 404) return null
        throw error
      }
    },
  })
}
