import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigFile } from '../../server/platform/config-file.ts'

/** Writes `docs/kinora.schema.json` from the schema that validates: `node test/support/write-schema.ts`. */
const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'kinora.yaml', ...ConfigFile }
writeFileSync(
  join(import.meta.dirname, '..', '..', 'docs', 'kinora.schema.json'),
  `${JSON.stringify(schema, null, 2)}\n`,
)
