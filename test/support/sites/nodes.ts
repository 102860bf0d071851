import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { testBucket } from '../bucket/bucket.ts'
import { emptyDatabase } from '../data/data-dir.ts'

export type SharedSite = Awaited<ReturnType<typeof sharedSite>>

/** What several nodes share: an empty database and a bucket. `dir`: an existing directory for the configuration. `lines` are added to it. */
export async function sharedSite(dir: string, lines: readonly string[] = []) {
  const database = await emptyDatabase()
  const { endpoint, bucket, region, credentials } = await testBucket()
  const config = join(dir, 'nodes.yaml')
  const storage = { kind: 's3', endpoint, bucket, region, ...credentials }
  writeFileSync(config, [`storage: ${JSON.stringify(storage)}`, ...lines, ''].join('\n'))
  return {
    database_url: database.url,
    /** Environment of a node: a secret, the shared configuration, and what `changes` sets or, with undefined, takes away. */
    env: (changes: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
      DATABASE_URL: database.url,
      KINORA_CONFIG: config,
      KINORA_SECRET: 'a secret of every node that is long enough',
      KINORA_DRAIN_SECONDS: '0',
      ...changes,
    }),
    drop: database.drop,
  }
}
