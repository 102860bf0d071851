import Type from 'typebox'
import { ApiError } from '../../../platform/errors.ts'
import { supportedValues } from '../../../platform/schema/explain.ts'
import { type Shape, shape } from '../../../platform/schema/validate.ts'
import { type InputItem, SENT_ITEMS, SENT_MESSAGES, type SkippedItem } from '../../schema/items.ts'

/** An item of `input` with its shape checked. */
export type CheckedItem = InputItem | SkippedItem

/**
 * Checks the shape of every item by its type: messages need no `type`, and an `id` alone is a reference. Items of a type that is not known are
 * skipped, with the outputs of their calls: agents bring those of other services along. Throws ApiError 400 with the path of what is wrong,
 * also when nothing is left, unless it `may_be_empty`. Source: contract 10.3.
 */
export function checkItems(items: readonly unknown[], { may_be_empty }: { may_be_empty: boolean }): CheckedItem[] {
  const checked = items.map((item, i) => checkItem(item, `input[${i}]`))
  const foreign = new Set<unknown>()
  for (const [i, { type }] of checked.entries()) {
    const { call_id, id } = items[i] as Record<string, unknown>
    if (type === 'skipped') foreign.add(call_id ?? id)
  }
  if (foreign.size === 0) return checked
  for (const item of checked) if (isCall(item)) foreign.delete(item.call_id)
  const kept = checked.map(
    (item): CheckedItem => (isOutput(item) && foreign.has(item.call_id) ? { type: 'skipped', of: item.type } : item),
  )
  if (may_be_empty || kept.some(({ type }) => type !== 'skipped')) return kept
  const { type } = items[0] as { type: string }
  throw unsupportedValue('input[0].type', type, ['message', ...Object.keys(SENT_ITEMS)])
}

function isCall(item: CheckedItem) {
  return item.type === 'function_call' || item.type === 'custom_tool_call'
}

function isOutput(item: CheckedItem) {
  return item.type === 'function_call_output' || item.type === 'custom_tool_call_output'
}

type ItemType = keyof typeof SENT_ITEMS
type Role = keyof typeof SENT_MESSAGES

const checkObject = shape(Type.Object({}, { additionalProperties: true }))
const checkMessage = shapesOf(SENT_MESSAGES)
const checkOther = shapesOf(SENT_ITEMS)

function checkItem(unchecked: unknown, path: string): CheckedItem {
  const item = checkObject(unchecked, path) as Record<string, unknown>
  const type = item.type ?? implied(item)
  if (type === undefined) throw missing(`${path}.type`)
  if (type === 'message') {
    refuseAudioAndVideo(item.content, `${path}.content`)
    return checkMessage[roleOf(item, path)](item, path)
  }
  if (typeof type === 'string' && Object.hasOwn(SENT_ITEMS, type)) {
    refuseAudioAndVideo(item.output, `${path}.output`)
    return checkOther[type as ItemType](item, path)
  }
  if (typeof type === 'string') return { type: 'skipped', of: type }
  throw unsupportedValue(`${path}.type`, type, ['message', ...Object.keys(SENT_ITEMS)])
}

/** The type of an item that has none, as far as its members determine it. */
function implied(item: Record<string, unknown>): 'message' | 'item_reference' | undefined {
  if (item.role != null || item.content != null) return 'message'
  return Object.keys(item).every((name) => name === 'id' || item[name] === null) && item.id != null
    ? 'item_reference'
    : undefined
}

function roleOf({ role }: Record<string, unknown>, path: string): Role {
  if (role == null) throw missing(`${path}.role`)
  if (typeof role === 'string' && Object.hasOwn(SENT_MESSAGES, role)) return role as Role
  throw unsupportedValue(`${path}.role`, role, Object.keys(SENT_MESSAGES))
}

/** Refuses parts that only chat completions accept, with an error that says so. */
function refuseAudioAndVideo(parts: unknown, path: string): void {
  if (!Array.isArray(parts)) return
  for (const [i, part] of parts.entries()) {
    const type = (part as { type?: unknown } | null)?.type
    if (type !== 'input_audio' && type !== 'input_video') continue
    const text = `Invalid value: '${type}'. Responses accept no video and no audio: use POST /v1/chat/completions.`
    throw new ApiError('invalid_value', text, { param: `${path}[${i}].type` })
  }
}

function shapesOf<N extends string>(schemas: Record<N, Type.TSchema>): Record<N, Shape<typeof InputItem>> {
  const entries = Object.entries<Type.TSchema>(schemas).map(([name, schema]) => [name, shape(schema)])
  return Object.fromEntries(entries)
}

function missing(param: string): ApiError {
  return new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param })
}

function unsupportedValue(param: string, value: unknown, allowed: readonly string[]): ApiError {
  if (typeof value !== 'string') {
    return new ApiError('invalid_type', `Invalid type for '${param}': expected a string.`, { param })
  }
  const text = `Invalid value: '${value.slice(0, 64)}'. ${supportedValues(allowed)}`
  return new ApiError('invalid_value', text, { param })
}
