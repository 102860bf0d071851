import { ConfigFile } from '../../../server/config/file.ts'
import { engineMistakes, engineSchemas } from '../../../server/engines/registry.ts'

type Json = { [name: string]: unknown }
type Family = Parameters<typeof engineSchemas>[0]

/**
 * What `docs/kinora.schema.json` holds: the schema that validates the file, in which each `engine` has a branch for every kind of its
 * family. The service checks the options of an engine separately from the file, so its own schema leaves them open.
 */
export function publishedSchema(): Json {
  const schema = plain(ConfigFile) as Json
  const { video_models, chat_models, moderation, translation } = schema.properties as Record<string, Json>
  replaceEngine(video_models!.items as Json, 'video')
  const { engines } = (video_models!.items as Json).properties as Record<string, Json>
  replaceEngine(engines!.items as Json, 'video')
  replaceEngine(chat_models!.items as Json, 'chat')
  replaceEngine(moderation!, 'moderation')
  replaceEngine(translation!, 'translation')
  const families = ['video', 'chat', 'moderation', 'translation'] as const
  const $defs = Object.fromEntries(families.map((family) => [`${family}_engine`, engineSchema(family)]))
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'kinora.yaml', ...schema, $defs }
}

function replaceEngine(owner: Json, family: Family): void {
  const properties = owner.properties as Json
  properties.engine = { $ref: `#/$defs/${family}_engine` }
}

/** A name stands for a kind without options, so only kinds that need none have one. */
function engineSchema(family: Family): Json {
  const kinds = [...engineSchemas(family)]
  const names = kinds.map(([name]) => name).filter((name) => engineMistakes(family, name).length === 0)
  return {
    description: 'A name, or a map of kind and its options. See docs/configuration.md.',
    anyOf: [
      { type: 'string', enum: names },
      ...kinds.map(([name, options]) => ({ title: name, ...(plain(options) as Json) })),
    ],
  }
}

/** As JSON has it. A tuple is written as the 2020-12 draft wants it. */
function plain(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema), (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || !Array.isArray((value as Json).items)) return value
    const { items, additionalItems: _none, ...rest } = value as Json
    return { ...rest, prefixItems: items, items: false }
  })
}
