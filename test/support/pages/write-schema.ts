import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { publishedSchema } from './published-schema.ts'

/** Writes `docs/kinora.schema.json` from the schemas that validate: `node test/support/pages/write-schema.ts`. */
writeFileSync(
  join(import.meta.dirname, '..', '..', '..', 'docs', 'kinora.schema.json'),
  `${JSON.stringify(publishedSchema(), null, 2)}\n`,
)
