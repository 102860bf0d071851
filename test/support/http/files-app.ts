import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { startApp } from './app.ts'
import { newOrganization, newPerson } from './people.ts'
import { multipart, type Part } from './raw-http.ts'
import { type HttpResponse, send } from './send.ts'

export type FilesApp = Awaited<ReturnType<typeof startFiles>>

/** The service with its blobs on disk, and the person who calls: one of two in an organization. Another organization has one. */
export async function startFiles(options: Parameters<typeof startApp>[0] = {}) {
  const app = await startApp({ on_disk: true, ...options })
  const [org_id, other] = [await newOrganization(app), await newOrganization(app, 'Rival')]
  const root = join(app.dir, 'blobs')
  mkdirSync(root, { recursive: true })
  return {
    ...app,
    ...(await newPerson(app, org_id)),
    colleague: await newPerson(app, org_id),
    rival: await newPerson(app, other),
    /** The blob directory. */
    root,
    /** Forgets every file, in the database alone. */
    clear: () => app.database.pool.query('delete from files'),
    /** Every file below the blob directory: published and staged. */
    stored: () => readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length,
  }
}

/** Sends a form with the parts in the given order. */
export function sendForm(app: { url: string; key: string }, parts: readonly Part[]): Promise<HttpResponse> {
  const { type, body } = multipart(parts)
  return send(app, 'POST', '/v1/files', { key: app.key, headers: { 'content-type': type } }, body)
}

/** Uploads bytes the plain way and fails the test when that is refused. */
export async function uploaded(
  app: { url: string; key: string },
  bytes: string | Uint8Array,
  { purpose = 'user_data', filename = 'a.bin', seconds = 0 } = {},
) {
  const expiry = seconds
    ? [
        { name: 'expires_after[anchor]', body: 'created_at' },
        { name: 'expires_after[seconds]', body: String(seconds) },
      ]
    : []
  const parts = [{ name: 'file', filename, body: bytes }, { name: 'purpose', body: purpose }, ...expiry]
  const { status, body, text } = await sendForm(app, parts)
  if (status !== 200) throw new Error(`upload refused: ${text}`)
  return body
}
