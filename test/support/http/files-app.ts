import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '../../../server/context.ts'
import { fileRoutes } from '../../../server/files/routes.ts'
import { registerEndpoints } from '../../../server/identity/caller/endpoint.ts'
import { createKey } from '../../../server/identity/keys/api-keys.ts'
import { openIdentity } from '../../../server/identity/open.ts'
import { createMember, createOrganization } from '../../../server/identity/people/provision.ts'
import { type Blobs, DiskFull } from '../../../server/platform/blobs/blobs.ts'
import { diskBlobs } from '../../../server/platform/blobs/disk.ts'
import { handMovedClock } from '../../../server/platform/clock.ts'
import { openHttp } from '../../../server/platform/http/server.ts'
import { silentLog } from '../../../server/platform/log.ts'
import { type TestDatabase, testDatabase } from '../data/postgres.ts'
import { liveContext } from './live-context.ts'
import { multipart, type Part } from './raw-http.ts'

/** API keys of two organizations, of two people in the first; filled in at start. */
export const KEYS = { acme: '', acme_colleague: '', rival: '' }

export type FilesApp = Awaited<ReturnType<typeof startFiles>>

/** The files routes on a real socket, database and disk, with a clock moved by hand and the callers of KEYS. `proxied`: as for `diskBlobs`. */
export async function startFiles({ proxied = false, requests_per_minute = null as number | null } = {}) {
  const database = await testDatabase()
  const root = await mkdtemp(join(tmpdir(), 'kinora-files-'))
  const clock = handMovedClock()
  const secret = randomBytes(32).toString('hex')
  const disk = { full: false as false | 'stage' | 'publish' }
  const ctx = liveContext({
    clock,
    log: silentLog,
    db: database.db,
    blobs: fillable(diskBlobs(root, { proxied }), disk),
    secret,
    secrets: [secret],
    site: { public_url: '', engine_url: '' },
    config: {
      api_key_prefix: 'kin',
      plans: new Map(requests_per_minute ? [['free', { requests_per_minute }]] : []),
      login: { oidc: null },
    },
  } as unknown as Context)
  const identity = await openIdentity({ ...ctx, live: ctx })
  const orgs = await addPeople(database, clock.now())
  const http = openHttp({ log: silentLog })
  http.register(async (server) => registerEndpoints(server, ctx, fileRoutes, identity.authenticator))
  await http.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`
  return {
    url,
    ctx,
    clock,
    disk,
    database,
    orgs,
    /** Forgets every file, in the database alone. */
    clear: () => database.pool.query('truncate files'),
    /** Every file below the blob directory: published and staged. */
    stored: () => readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length,
    root,
    http,
    async close() {
      http.server.closeAllConnections()
      await http.close()
      await identity.close()
      await database.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** Any JSON answer. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes.
export type Answer = { status: number; headers: Headers; body: any }

export function bearer(key: string): { authorization: string } {
  return { authorization: `Bearer ${key}` }
}

/** Calls the service and reads the answer as JSON. */
export async function call(
  app: { url: string },
  path: string,
  options: RequestInit & { key?: string } = {},
): Promise<Answer> {
  const { key = KEYS.acme, headers, ...rest } = options
  const response = await fetch(app.url + path, {
    ...rest,
    headers: { ...bearer(key), ...(headers as Record<string, string>) },
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

/** Sends a form with the parts in the given order. */
export function sendForm(
  app: { url: string },
  parts: readonly Part[],
  options: { key?: string } = {},
): Promise<Answer> {
  const { type, body } = multipart(parts)
  return call(app, '/v1/files', {
    method: 'POST',
    headers: { 'content-type': type },
    body: new Uint8Array(body),
    ...options,
  })
}

/** Uploads bytes the plain way and fails the test when that is refused. */
export async function uploaded(
  app: { url: string },
  bytes: string | Uint8Array,
  { purpose = 'user_data', filename = 'a.bin', key = KEYS.acme, seconds = 0 } = {},
) {
  const expiry = seconds
    ? [
        { name: 'expires_after[anchor]', body: 'created_at' },
        { name: 'expires_after[seconds]', body: String(seconds) },
      ]
    : []
  const parts = [{ name: 'file', filename, body: bytes }, { name: 'purpose', body: purpose }, ...expiry]
  const { status, body } = await sendForm(app, parts, { key })
  if (status !== 200) throw new Error(`upload refused: ${JSON.stringify(body)}`)
  return body
}

async function addPeople({ db }: TestDatabase, now: Date): Promise<{ acme: string; rival: string }> {
  return db.transaction().execute(async (tx) => {
    const addOrg = (name: string) => createOrganization(tx, { name, plan: 'free', now })
    const addPerson = async (org_id: string, name: string) => {
      const person = { org_id, name, email: `${name}@example.com`, role: 'member', password_hash: 'none', now } as const
      const { user_id } = await createMember(tx, person)
      return (await createKey(tx, { org_id, user_id, name: 'test', prefix: 'kin', now })).key
    }
    const orgs = { acme: await addOrg('Acme'), rival: await addOrg('Rival') }
    KEYS.acme = await addPerson(orgs.acme, 'ada')
    KEYS.acme_colleague = await addPerson(orgs.acme, 'bob')
    KEYS.rival = await addPerson(orgs.rival, 'eve')
    return orgs
  })
}

/** The disk, until a test says it is full: a real one cannot be filled on demand everywhere. */
function fillable(blobs: Blobs, disk: { full: false | 'stage' | 'publish' }): Blobs {
  return {
    ...blobs,
    async stage(source, options) {
      const staged = await blobs.stage(source, options)
      if (disk.full !== 'stage') return staged
      await blobs.discard(staged)
      throw new DiskFull('no space left for files')
    },
    async publish(staged) {
      if (disk.full !== 'publish') return blobs.publish(staged)
      await blobs.discard(staged)
      throw new DiskFull('no space left for files')
    },
  }
}
