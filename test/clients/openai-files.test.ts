import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { samplePicture } from '../support/data/media.ts'
import { type FilesApp, startFiles } from '../support/http/files-app.ts'

let app: FilesApp
let dir: string
let client: OpenAI
before(async () => {
  app = await startFiles()
  dir = await mkdtemp(join(tmpdir(), 'kinora-openai-'))
  client = new OpenAI({ apiKey: app.key, baseURL: `${app.url}/v1`, maxRetries: 0 })
})
after(async () => {
  await app.close()
  await rm(dir, { recursive: true, force: true })
})

test('openai: a file is created from a stream, awaited, read, downloaded and deleted', async () => {
  const picture = await samplePicture('png')
  await writeFile(join(dir, 'photo.png'), picture)
  const created = await client.files.create({
    file: createReadStream(join(dir, 'photo.png')),
    purpose: 'vision',
    expires_after: { anchor: 'created_at', seconds: 3600 },
  })
  assert.equal(created.filename, 'photo.png')
  assert.equal(created.expires_at! - created.created_at, 3600)
  assert.deepEqual(await client.files.retrieve(created.id), created)
  assert.equal((await client.files.waitForProcessing(created.id)).status, 'processed')
  const content = await client.files.content(created.id)
  assert.ok(Buffer.from(await content.arrayBuffer()).equals(picture))
  assert.deepEqual(await client.files.delete(created.id), { id: created.id, object: 'file', deleted: true })
  await assert.rejects(client.files.retrieve(created.id), OpenAI.NotFoundError)
})

test('openai: the list pages by itself through everything, once each', async () => {
  const made: string[] = []
  for (let i = 0; i < 7; i++) {
    const file = await toFile(Buffer.from(`{"line":${i}}\n`), `部品 ${i}.jsonl`)
    made.push((await client.files.create({ file, purpose: 'batch' })).id)
  }
  const seen: string[] = []
  for await (const file of client.files.list({ limit: 2, purpose: 'batch', order: 'asc' })) seen.push(file.id)
  assert.deepEqual(seen, made)
  const first = await client.files.list({ limit: 3 })
  assert.deepEqual([first.data.length, first.has_more], [3, true])
})

test('openai: refusals arrive as its typed errors with code, param and request id', async () => {
  const text = await toFile(Buffer.from('not a picture'), 'a.png')
  await assert.rejects(
    client.files.create({ file: text, purpose: 'vision' }),
    (error: InstanceType<typeof OpenAI.APIError>) => {
      assert.ok(error instanceof OpenAI.BadRequestError)
      assert.deepEqual([error.code, error.param], ['invalid_file', 'file'])
      assert.match(error.requestID!, /^req_/)
      return true
    },
  )
  const large = await toFile(Buffer.alloc(100_000_001), 'large.bin')
  const refusal = (error: InstanceType<typeof OpenAI.APIError>) =>
    error.status === 413 && error.code === 'file_too_large'
  await assert.rejects(client.files.create({ file: large, purpose: 'user_data' }), refusal)
})
