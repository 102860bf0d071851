import { createHash } from 'node:crypto'
import { randomHex } from '../platform/ids.ts'

/** What an item is, by the beginning of its id. Outputs of calls occur in input alone. Source: contract 1.2. */
export type ItemKind = 'msg' | 'fc' | 'ctc' | 'rs' | 'cmp' | 'fco' | 'ctco'
export type OutputKind = Extract<ItemKind, 'msg' | 'fc' | 'ctc' | 'rs' | 'cmp'>

export function newResponseId(): string {
  return 'resp_' + randomHex(24)
}

/** For items that clients send without an id. */
export function newItemId(kind: ItemKind): string {
  return `${kind}_${randomHex(24)}`
}

/** The id of an output item. A response that is made a second time, after a crash, gives its items the same ids. */
export function itemId(response_id: string, kind: OutputKind, index: number): string {
  return `${kind}_${derived(response_id, kind, index)}`
}

/** What the engine calls this call, where that is a usable id; otherwise one that is the same each time, as with `itemId`. */
export function callId(response_id: string, index: number, given: string | undefined): string {
  return given !== undefined && given.length >= 1 && given.length <= CALL_ID_MAX
    ? given
    : `call_${derived(response_id, 'call', index).slice(0, 24)}`
}

/** Longest id of a call that clients take. */
const CALL_ID_MAX = 64

function derived(response_id: string, kind: string, index: number): string {
  return createHash('sha256').update(`${response_id}:${kind}:${index}`).digest('hex').slice(0, 48)
}
