import type { FastifyReply } from 'fastify'

/** Names in the headers of the answer what was accepted and not sent to the model, by type. */
export function nameDropped(
  reply: FastifyReply,
  { tools = [], items }: { tools?: readonly string[]; items: readonly string[] },
): void {
  if (tools.length > 0) reply.header('x-dropped-tools', namesIn(tools))
  if (items.length > 0) reply.header('x-dropped-items', namesIn(items))
}

/** Clients choose these names: a header has room for some, and takes no other characters. */
function namesIn(types: readonly string[]): string {
  return types
    .slice(0, NAMES_MAX)
    .map((type) => type.slice(0, 64).replace(/[^\x21-\x2b\x2d-\x7e]/g, '?'))
    .join(', ')
}

const NAMES_MAX = 32
