import { Check } from 'typebox/schema'
import { sandboxChat } from '../../../../server/engines/chat/sandbox/adapter.ts'
import { isRecord } from '../../../../server/platform/json/record.ts'
import { type Answer, ask, textOf } from './ask.ts'

export const engine = sandboxChat({ kind: 'sandbox' })

/** A schema as strict mode wants it: every member is required, and no other allowed. */
export function object(properties: Record<string, unknown>): Record<string, unknown> {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** By a checker of others. It takes what every object inherits for members, so it is given objects that inherit nothing. */
export function accepts(schema: Record<string, unknown>, value: unknown): boolean {
  return Check(
    schema,
    JSON.parse(JSON.stringify(value), (_, part) => (isRecord(part) ? withoutPrototype(part) : part)),
  )
}

function withoutPrototype(value: Record<string, unknown>): object {
  return Object.create(null, Object.getOwnPropertyDescriptors(value))
}

export async function answerTo(schema: Record<string, unknown>, seed: number): Promise<unknown> {
  return JSON.parse(
    textOf(await ask(engine, 'Tell me about 3 cats in Paris.', { response_format: formatOf(schema), seed })),
  )
}

export function formatOf(schema: Record<string, unknown>) {
  return { type: 'json_schema' as const, json_schema: { name: 'answer', schema } }
}

export function toolOf(parameters: Record<string, unknown>) {
  return { type: 'function' as const, function: { name: 'do_it', parameters } }
}

export function argumentsOf({ events }: Answer): string[] {
  const calls: string[] = []
  for (const event of events)
    if (event.type === 'tool-call-delta') calls[event.call] = (calls[event.call] ?? '') + event.arguments
  return calls
}
