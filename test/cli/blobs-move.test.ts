import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { S3Options } from '../../server/platform/blobs/s3/bucket.ts'
import { s3Blobs } from '../../server/platform/blobs/s3/s3.ts'
import { testBucket } from '../support/bucket/bucket.ts'
import { damageObject } from '../support/bucket/storage.ts'
import { runCommand, runKinora } from '../support/command.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'

const dir = dataDir()
const external = await emptyDatabase()
after(async () => {
  await dir.remove()
  await external.drop()
})

test('files move from the disk to a bucket and back while the service runs: all are readable throughout, and none is left behind', async () => {
  const bucket = await testBucket({ prefix: 'kinora/' })
  const disk = 'storage: { kind: disk }\n'
  const s3 = storageOf(bucket)
  const KINORA_CONFIG = join(dir.path, 'kinora.yaml')
  const configure = (text: string) => writeFileSync(KINORA_CONFIG, text)
  const moveTo = (to: string) => [
    'admin',
    'blobs',
    'move',
    '--to',
    to,
    '--data-dir',
    dir.path,
    '--config',
    KINORA_CONFIG,
    '--json',
  ]
  const database = { DATABASE_URL: external.url }
  const move = (to: string, ...flags: string[]) => runCommand([...moveTo(to), ...flags], database)
  const serve = () => dir.serve({ KINORA_CONFIG, ...database })
  const keys = async () => {
    const blobs = s3Blobs(bucket, { staging_dir: join(dir.path, 'blobs', 'staging') })
    const found: string[] = []
    for await (const { key } of blobs.list({ older_than: new Date(Date.now() + 3_600_000) })) found.push(key)
    return found
  }
  const count = async () => (await keys()).length
  configure(disk)
  let service = await serve()
  const { api_key } = dir.firstRun()
  const files = new Map<string, string>()
  const upload = async (text: string) => {
    const form = new FormData()
    form.set('file', new File([text], 'a.txt'))
    form.set('purpose', 'user_data')
    const answer = await fetch(`${service.url}/v1/files`, { method: 'POST', headers: bearer(api_key), body: form })
    const { id } = (await answer.json()) as { id: string }
    files.set(id, text)
    return id
  }
  const readAll = async () => {
    for (const [id, text] of files) {
      const answer = await fetch(`${service.url}/v1/files/${id}/content`, { headers: bearer(api_key) })
      assert.equal(await answer.text(), text)
    }
  }
  const restart = async (text: string) => {
    await service.stop()
    configure(text)
    service = await serve()
  }
  await upload('one')
  await upload('two')
  const refused = await move('s3')
  assert.match(refused.stderr, /storage\.also_read/)
  configure(storageOf(bucket, '{ kind: disk }'))
  assert.match((await move('s3')).stderr, /Restart it/)

  await restart(storageOf(bucket, '{ kind: disk }'))
  await upload('three')
  await readAll()
  assert.deepEqual([dir.blobs().length, await count()], [2, 1])
  await service.stop()
  for (const text of [s3, disk]) {
    configure(text)
    await assert.rejects(serve(), /also_read/)
  }
  configure(storageOf(bucket, '{ kind: disk }'))
  service = await serve()
  const [key = ''] = dir.blobs()
  const one = join(dir.path, 'blobs', key.slice(0, 2), key)
  const bytes = readFileSync(one)
  writeFileSync(one, bytes.toReversed())
  const damagedOnDisk = await move('s3')
  assert.equal(damagedOnDisk.code, 1)
  assert.match(damagedOnDisk.stderr, new RegExp(`1 of the files .* ${key}.*--incomplete`))
  writeFileSync(one, bytes)
  const moved = await runKinora(moveTo('s3'), { env: database })
  assert.equal(moved.code, 0, moved.stderr)
  const { files: found, copied } = JSON.parse(moved.stdout)
  assert.deepEqual([found, copied], [2, 1])
  assert.equal(JSON.parse((await move('s3')).stdout).copied, 0)
  await restart(s3)
  await upload('four')
  await readAll()
  assert.equal(await count(), 4)

  const before = await keys()
  files.delete(await upload('five'))
  const [damaged = ''] = (await keys()).filter((key) => !before.includes(key))
  await damageObject(bucket, damaged)
  await restart(`storage: { kind: disk, also_read: ${inline(bucket)} }\n`)
  await readAll()
  const blocked = await move('disk')
  assert.deepEqual([blocked.code, blocked.stdout], [1, ''])
  assert.match(blocked.stderr, new RegExp(`1 of the files .* ${damaged}.*--incomplete`))
  await service.stop()
  configure(disk)
  await assert.rejects(serve(), /also_read/, 'a move that leaves something out is not complete')
  await restart(`storage: { kind: disk, also_read: ${inline(bucket)} }\n`)
  const incomplete = await move('disk', '--incomplete')
  assert.equal(incomplete.code, 0, incomplete.stderr)
  const report = JSON.parse(incomplete.stdout)
  assert.deepEqual([report.files, report.copied, report.missing, report.left_out], [5, 0, 1, [damaged]])
  await restart(disk)
  await readAll()
})

function inline({ endpoint, region, bucket, prefix, credentials }: S3Options, also_read?: string): string {
  const { access_key_id, secret_access_key } = credentials!
  const text = JSON.stringify({ kind: 's3', endpoint, region, bucket, prefix, access_key_id, secret_access_key })
  return also_read ? text.replace(/}$/, `, "also_read": ${also_read}}`) : text
}

function storageOf(bucket: S3Options, also_read?: string): string {
  return `storage: ${inline(bucket, also_read)}\n`
}

function bearer(key: string): { authorization: string } {
  return { authorization: `Bearer ${key}` }
}
