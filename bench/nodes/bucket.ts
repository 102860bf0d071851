import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'

/** A bucket on an S3 server that every node reaches. `storage`: its entry in `kinora.yaml`. */
export async function startBucket(address: string): Promise<{ storage: string; stop(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'kinora-s3-'))
  const s3 = new S3rver({ address, port: 0, silent: true, directory, configureBuckets: [{ name: 'kinora' }] })
  const { port } = (await s3.run()) as AddressInfo
  const keys = 'access_key_id: S3RVER, secret_access_key: S3RVER'
  return {
    storage: `{ kind: s3, endpoint: "http://${address}:${port}", region: us-east-1, bucket: kinora, ${keys} }`,
    async stop() {
      await s3.close()
      rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}
