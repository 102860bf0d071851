import { createHash } from 'node:crypto'
import { CALL_ID_MAX } from '../engines/chat/call-id.ts'
import { randomHex } from '../platform/ids.ts'

/** Prefixes of item ids, by kind of item. Outputs of calls and additional tools occur only in input. Source: contract 1.2. */
export type ItemKind = 'msg' | 'fc' | 'ctc' | 'rs' | 'cmp' | 'fco' | 'ctco' | 'at'
export type OutputKind = Extract<ItemKind, 'msg' | 'fc' | 'ctc' | 'rs' | 'cmp'>

export function newResponseId(): string {
  return 'resp_' + randomHex(24)
}

/** For items that clients send without an id. */
export function newItemId(kind: ItemKind): string {
  return `${kind}_${randomHex(24)}`
}

/** The id of an output item: the same in every attempt to make the response. */
export function itemId(response_id: string, kind: OutputKind, index: number): string {
  return `${kind}_${derived(response_id, kind, index)}`
}

/** The engine's id of a call when it is usable; otherwise a derived one, the same in every attempt. */
export function callId(response_id: string, index: number, given: string | undefined): string {
  return given !== undefined && given.length >= 1 && given.length <= CALL_ID_MAX
    ? given
    : `call_${derived(response_id, 'call', index).slice(0, 24)}`
}

function derived(response_id: string, kind: string, index: number): string {
  return createHash('sha256').update(`${response_id}:${kind}:${index}`).digest('hex').slice(0, 48)
}
