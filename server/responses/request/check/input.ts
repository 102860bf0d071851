import Type from 'typebox'
import { ApiError } from '../../../platform/errors.ts'
import { isRecord } from '../../../platform/json/record.ts'
import { supportedValues } from '../../../platform/schema/explain.ts'
import { type Shape, shape, shapeIfFits } from '../../../platform/schema/validate.ts'
import { mapInTurns } from '../../../platform/turns.ts'
import {
  type InputItem,
  ITEM_STATUSES,
  type ItemReference,
  PHASES,
  SENT_ITEMS,
  SENT_MESSAGES,
  type SkippedItem,
} from '../../schema/items.ts'
import { skippedCalls } from '../normalize-input.ts'
import { checkTools } from './tools.ts'

/** An item of `input` with its shape checked. */
export type CheckedItem = InputItem | SkippedItem

/**
 * Checks the shape of every item by its type: messages need no `type`, and an `id` alone is a reference. Items of a type that is not known,
 * and reasoning and compactions that are not ours, are skipped: agents bring those of other services along. Throws ApiError 400 with the path
 * of what is wrong, also when nothing is left, unless it `may_be_empty`, and for too many references. Rejects once `left` aborts. Source:
 * contract 10.3.
 */
export async function checkItems(
  items: readonly unknown[],
  { may_be_empty, left }: { may_be_empty: boolean; left: AbortSignal },
): Promise<CheckedItem[]> {
  const checked = await mapInTurns(items, (item, i) => checkItem(item, `input[${i}]`), left)
  if (checked.filter(({ type }) => type === 'item_reference').length > REFERENCES_MAX) {
    const text = `Invalid 'input': more than ${REFERENCES_MAX} items are references. Send the items themselves, or continue from their response with 'previous_response_id'.`
    throw new ApiError('invalid_value', text, { param: 'input' })
  }
  const skipped = checked.findIndex((item) => item.type === 'skipped' && !Object.hasOwn(SENT_ITEMS, item.of))
  if (may_be_empty || skipped < 0) return checked
  const calls = skippedCalls(checked as InputItem[])
  for (const item of checked) if (isCall(item)) calls.delete(item.call_id)
  if (checked.some((item) => item.type !== 'skipped' && !(isOutput(item) && calls.has(item.call_id)))) return checked
  const { of } = checked[skipped] as SkippedItem
  throw unsupportedValue(`input[${skipped}].type`, of, ['message', ...Object.keys(SENT_ITEMS)])
}

/** Each is looked up by itself. */
const REFERENCES_MAX = 5000

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
/** Only we can read what we sealed. In another form such an item is one of another service. */
const sealedIfOurs = {
  reasoning: shapeIfFits(SENT_ITEMS.reasoning, { empty_is_absent: true }),
  compaction: shapeIfFits(SENT_ITEMS.compaction, { empty_is_absent: true }),
}

function checkItem(unchecked: unknown, path: string): CheckedItem {
  const item = withKnownWords(checkObject(unchecked, path) as Record<string, unknown>)
  const type = item.type || implied(item)
  if (type === undefined) throw missing(`${path}.type`)
  if (type === 'message') {
    rejectAudioAndVideo(item.content, `${path}.content`)
    return checkMessage[roleOf(item, path)](item, path)
  }
  if (typeof type === 'string' && Object.hasOwn(SENT_ITEMS, type)) {
    rejectAudioAndVideo(item.output, `${path}.output`)
    if (isSealed(type)) return sealedIfOurs[type](item) ?? { type: 'skipped', of: type }
    const checked = checkOther[type as ItemType](item, path)
    if (type === 'item_reference') return { type, id: (checked as ItemReference).id }
    return checked.type === 'additional_tools'
      ? { ...checked, tools: checkTools(checked.tools, `${path}.tools`) }
      : checked
  }
  if (type === 'agent_message') return agentMessage(item, path)
  if (typeof type === 'string') {
    const call = item.call_id ?? item.id
    return { type: 'skipped', of: type, ...(typeof call === 'string' && { call }) }
  }
  throw unsupportedValue(`${path}.type`, type, ['message', ...Object.keys(SENT_ITEMS)])
}

/** The item without a `status` or `phase` that only other services have, such as `failed`: nothing depends on them. */
function withKnownWords(item: Record<string, unknown>): Record<string, unknown> {
  if (!isOther(item.status, ITEM_STATUSES) && !isOther(item.phase, PHASES)) return item
  const { status, phase, ...rest } = item
  return {
    ...rest,
    ...(!isOther(status, ITEM_STATUSES) && { status }),
    ...(!isOther(phase, PHASES) && { phase }),
  }
}

function isOther(word: unknown, known: readonly string[]): boolean {
  return typeof word === 'string' && !known.includes(word)
}

function isSealed(type: string): type is keyof typeof sealedIfOurs {
  return Object.hasOwn(sealedIfOurs, type)
}

/**
 * A message from one agent of the client to another, as one of the user. Codex writes its text into `encrypted_content`, too; what another
 * service has encrypted is left out, as is a message of nothing else. Source: https://github.com/ollama/ollama/pull/18329
 */
function agentMessage({ id, author, recipient, content }: Record<string, unknown>, path: string): CheckedItem {
  const parts: unknown[] = Array.isArray(content) ? content : []
  const texts = parts.flatMap((part) => {
    const { type, text = '', encrypted_content = '' } = isRecord(part) ? part : {}
    const written = type === 'encrypted_content' ? encrypted_content : text
    return typeof written === 'string' && written !== '' && !ENCRYPTED.test(written) ? [written] : []
  })
  if (texts.length === 0) return { type: 'skipped', of: 'agent_message' }
  const nameOf = (agent: unknown) => (typeof agent === 'string' ? agent : 'an agent')
  const text = `From ${nameOf(author)} to ${nameOf(recipient)}:\n${texts.join('')}`
  return checkMessage.user({ type: 'message', id, role: 'user', content: text }, path)
}

/** One long word of base64. */
const ENCRYPTED = /^[\w+/=-]{64,}$/

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

/** Rejects parts that only chat completions accept, with an error that says so. */
function rejectAudioAndVideo(parts: unknown, path: string): void {
  if (!Array.isArray(parts)) return
  for (const [i, part] of parts.entries()) {
    const type = (part as { type?: unknown } | null)?.type
    if (type !== 'input_audio' && type !== 'input_video') continue
    const text = `Invalid value: '${type}'. Responses accept no video and no audio: use POST /v1/chat/completions.`
    throw new ApiError('invalid_value', text, { param: `${path}[${i}].type` })
  }
}

function shapesOf<N extends string>(schemas: Record<N, Type.TSchema>): Record<N, Shape<typeof InputItem>> {
  const entries = Object.entries<Type.TSchema>(schemas).map(([name, schema]) => [
    name,
    shape(schema, { empty_is_absent: true }),
  ])
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
