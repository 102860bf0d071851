import { jsonIn } from '../../../../platform/json/record.ts'
import { beginsJson, type JsonEnd, jsonEnd, readToEnd } from '../read/json-end.ts'

/**
 * `written`: all arguments so far, and `json` whether they are complete. `pending`: what of them has not been emitted, which waits until it
 * `flows`: until it is clear that the arguments have begun. `is_cumulative`: each piece has them from the start.
 */
export type CallArguments = {
  written: string
  pending: string
  flows: boolean
  has_arguments: boolean
  is_cumulative: boolean
  json: JsonEnd
}

export function emptyArguments(): CallArguments {
  return { written: '', pending: '', flows: false, has_arguments: false, is_cumulative: false, json: jsonEnd() }
}

/** Adds a piece to the arguments. Returns what follows their end, without brackets too many, if it begins as JSON. */
export function write(call: CallArguments, piece: string): string {
  if (piece.trim() === '') return append(call, piece)
  if (!call.flows && isNoArguments(call.pending) && beginsJson(piece))
    Object.assign(call, { written: '', pending: '', has_arguments: false, json: jsonEnd() })
  if (call.json.ended) return surplusOf(call, piece)
  const text = call.has_arguments ? newOf(call, piece) : unquoted(piece)
  const stop = readToEnd(call.json, text, 0)
  append(call, text.slice(0, stop))
  return surplusOf(call, text.slice(stop))
}

export function isSameJson(a: string, b: string): boolean {
  if (a === b) return true
  const value = jsonIn(a)
  return value !== undefined && JSON.stringify(value) === JSON.stringify(jsonIn(b))
}

/** Whether arguments that begin like this may be the `{}` or `null` that some servers send before the arguments. */
export function isUndecided(text: string): boolean {
  return text.length <= UNDECIDED_MAX && UNDECIDED.test(text)
}

const UNDECIDED_MAX = 16
const UNDECIDED = /^\s*(\{\s*\}?\s*|nu?l?l?\s*)?$/

/** Whether an undecided text says that there are no arguments. */
export function isNoArguments(text: string): boolean {
  return /^\s*(\{\s*\}|null)\s*$/.test(text)
}

function append(call: CallArguments, text: string): '' {
  call.written += text
  call.pending += text
  call.has_arguments ||= text.trim() !== ''
  return ''
}

function surplusOf(call: CallArguments, text: string): string {
  const rest = text.replace(/^[\s,\]}]+/, '')
  return rest === '' || beginsJson(rest) ? rest : append(call, text)
}

/** What is new in a piece. One that begins with all before it, where no JSON can go on like that, has the arguments from the start. */
function newOf(call: CallArguments, piece: string): string {
  const { written, json } = call
  if (piece.length < written.length || json.depth === 0 || !piece.startsWith(written)) return piece
  const isValue = !json.quoted && ':[,'.includes(written.trimEnd().at(-1)!)
  if (!call.is_cumulative && (isValue || piece.length === written.length)) return piece
  call.is_cumulative = true
  return piece.slice(written.length)
}

/** The JSON in a text that is JSON encoded twice; any other text as it is. */
function unquoted(text: string): string {
  if (!/^\s*"\s*[{[]/.test(text)) return text
  const inner = jsonIn(text)
  return typeof inner === 'string' && beginsJson(inner) ? inner : text
}
