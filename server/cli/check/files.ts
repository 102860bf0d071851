import { createHash, randomBytes } from 'node:crypto'
import type { VideoView } from '../../videos/schema.ts'
import { formatBytes } from '../units.ts'
import { CAUSES, expect } from './failure.ts'
import type { Target } from './target.ts'

/** For a file of 100 MB over a slow line. */
const TRANSFER_SECONDS = 900

type FileView = { id: string; filename: string; bytes: number }

/** Uploads a file of random bytes, reads it back and deletes it. Throws StepFailure. */
export async function checkFile(target: Target, size_bytes: number): Promise<string> {
  const bytes = randomBytes(size_bytes)
  const filename = `kinora-check-${randomBytes(6).toString('hex')}.bin`
  const file = await upload(target, filename, bytes)
  const path = `/v1/files/${file.id}`
  const content = await download(target, `${path}/content`)
  expectSame(`GET ${path}/content`, content, { size_bytes, sha256: sha256Of(bytes) })
  await target.remove(path)
  return `${formatBytes(size_bytes)} up, down and deleted`
}

async function upload(target: Target, filename: string, bytes: Buffer<ArrayBuffer>): Promise<FileView> {
  const sent = `POST /v1/files, ${formatBytes(bytes.length)}`
  const form = new FormData()
  form.set('purpose', 'user_data')
  form.set('file', new Blob([bytes]), filename)
  try {
    return await target.within(TRANSFER_SECONDS, sent, async (signal) => {
      const response = await target.api.send('POST', '/v1/files', { body: form, signal })
      const file = (await response.json()) as FileView
      target.created(`/v1/files/${file.id}`)
      expect(file.bytes === bytes.length, { sent, received: `a file of ${file.bytes} bytes`, cause: CAUSES.foreign })
      return file
    })
  } catch (error) {
    await rememberLost(target, '/v1/files', (file) => file.filename === filename)
    throw error
  }
}

/** Remembers what was created although its answer did not arrive, so that it is removed with the rest. */
export async function rememberLost(
  target: Target,
  list: '/v1/files' | '/v1/videos',
  isOurs: (entry: Partial<FileView & VideoView>) => boolean,
): Promise<void> {
  const page = await target.ask<{ data: Array<{ id: string }> }>('GET', `${list}?limit=20`).catch(() => null)
  for (const entry of page?.data ?? []) if (isOurs(entry)) target.created(`${list}/${entry.id}`)
}

/** What a download consisted of, and what the service had announced: its entity tag is the sha256. */
export type Downloaded = {
  size_bytes: number
  sha256: string
  announced: { size_bytes: number | null; sha256: string | null }
}

/** Reads bytes without keeping them. Throws StepFailure. */
export async function download(target: Target, path: string): Promise<Downloaded> {
  return target.within(TRANSFER_SECONDS, `GET ${path}`, async (signal) => {
    const response = await target.api.send('GET', path, { signal })
    const hash = createHash('sha256')
    let size_bytes = 0
    for await (const chunk of response.body ?? []) {
      hash.update(chunk)
      size_bytes += chunk.length
    }
    const length = response.headers.get('content-length')
    const announced = {
      size_bytes: length === null ? null : Number(length),
      sha256: /^(?:W\/)?"([0-9a-f]{64})"$/.exec(response.headers.get('etag') ?? '')?.[1] ?? null,
    }
    return { size_bytes, sha256: hash.digest('hex'), announced }
  })
}

/** Throws StepFailure unless the bytes are those that are expected and announced. */
export function expectSame(
  sent: string,
  { size_bytes, sha256, announced }: Downloaded,
  wanted: { size_bytes: number; sha256: string } | null = null,
): void {
  const size = wanted?.size_bytes ?? announced.size_bytes
  const hash = wanted?.sha256 ?? announced.sha256
  expect(announced.size_bytes !== null && announced.sha256 !== null, {
    sent,
    received: `no ${announced.sha256 === null ? 'ETag with the sha256' : 'Content-Length'}`,
    cause: 'The proxy removes headers, or compresses what it should pass on as it is.',
  })
  expect(size_bytes === size && sha256 === hash && sha256 === announced.sha256, {
    sent,
    received: `${size_bytes} bytes with sha256 ${sha256}, in place of ${size} with ${hash}`,
    cause: 'Something on the way changes or cuts the bytes: a cache, a filter, or a time limit of the proxy.',
  })
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
