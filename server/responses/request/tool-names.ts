import { createHash } from 'node:crypto'

/** A tool by the client's names for it. */
export type ToolName = { name: string; namespace?: string | undefined }

/** What a model server takes for a name. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/
const NAME_LENGTH_MAX = 64

/** The name under which a model is given a tool; always the same, so that calls of earlier turns keep theirs. */
export function forwardedName({ name, namespace }: ToolName): string {
  const joined = namespace === undefined ? name : `${namespace}__${name}`
  return NAME.test(joined) ? joined : hashedName({ name, namespace })
}

/** A name of its own for a tool whose joined name is too long, of characters that are not taken, or another tool's already. */
export function hashedName({ name, namespace }: ToolName): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([namespace ?? null, name]))
    .digest('hex')
    .slice(0, 8)
  const joined = namespace === undefined ? name : `${namespace}__${name}`
  const plain = joined.replaceAll(/[^A-Za-z0-9_-]/gu, '_').slice(0, NAME_LENGTH_MAX - hash.length - 1)
  return `${plain}_${hash}`
}
