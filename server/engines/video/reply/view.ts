import { asRecord } from '../../../platform/json/record.ts'
import { plainWord } from '../../error-words.ts'
import { renderStageOf } from './stage.ts'

/**
 * One JSON object of a reply, its members by their plain names: `taskId` and `task_id` are one. `holds_output`: it stands for the clip or the
 * result rather than for the render.
 */
export type ReplyLayer = { members: ReadonlyMap<string, unknown>; holds_output: boolean }

/**
 * What a reply holds, whatever is wrapped around it. `layers` are its objects from the outermost to the innermost, `status` the render's
 * own word, null when there is none, and `id` a usable id, which is the render's `own` unless it is that of the request.
 */
export type ReplyView = {
  layers: readonly ReplyLayer[]
  status: string | null
  id: string | null
  has_own_id: boolean
  json: unknown
}

export function viewOf(json: unknown): ReplyView {
  const layers = layersOf(json)
  const own = renderId(layers)
  const id = own ?? layers.map(({ members }) => textId(members.get('requestid'))).find((each) => each !== undefined)
  const usable = id !== undefined && isRenderId(id) ? id : null
  return { layers, status: statusIn(layers), id: usable, has_own_id: own !== undefined, json }
}

/** Whether an id can be stored, written to a log and made a part of a path. Ids of 700 characters were seen. */
export function isRenderId(id: string): boolean {
  return Buffer.byteLength(id) <= ID_BYTES_MAX && id.isWellFormed() && !/^\.*$/.test(id) && !CONTROLS.test(id)
}

/** The first of these members, given by their plain names, that is not null, from the innermost object outwards. */
export function memberOf({ layers }: Pick<ReplyView, 'layers'>, names: readonly string[]): unknown {
  for (const { members } of layers.toReversed()) {
    for (const name of names) if (members.get(name) != null) return members.get(name)
  }
  return undefined
}

/** How far the render is, 0 to 99, from a number, `"45%"` or a fraction of 1. */
export function progressIn(view: ReplyView): number | undefined {
  const value = memberOf(view, PROGRESS)
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : ''
  const [, digits, percent] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(text) ?? []
  if (digits === undefined) return undefined
  const number = Number(digits)
  const isFraction = percent === '' && number < 1
  return Math.min(99, Math.floor(isFraction ? number * 100 : number))
}

/** The length of the clip that the engine says it renders. */
export function secondsIn(view: ReplyView): number | undefined {
  const value = memberOf(view, SECONDS)
  const digits = /^(\d+(?:\.\d+)?)\s*(s|sec|secs|seconds?)?$/i.exec(String(value ?? '').trim())?.[1]
  const seconds = Number(digits ?? 0)
  return seconds >= 1 ? seconds : undefined
}

/** Whether the engine notes when the render was completed. */
export function isStamped(view: ReplyView): boolean {
  const value = memberOf(view, COMPLETED_AT)
  return value !== undefined && value !== 0 && value !== ''
}

/** The renders on a page of a list, under whatever wrappers, each with its id as text; null when there is no list. */
export function listIn({ layers, json }: ReplyView): Array<Record<string, unknown>> | null {
  const lists = layers.flatMap(({ members }) => LISTS.map((name) => members.get(name)))
  const found = [json, ...lists].find(Array.isArray) as unknown[] | undefined
  return found?.map((item) => ({ ...asRecord(item), id: viewOf(item).id ?? undefined })) ?? null
}

const ID_BYTES_MAX = 2000
/** Neither PostgreSQL nor a path can hold them. */
const CONTROLS = /[\u0000-\u001f\u007f]/

/** Wrappers around a render, and around what it came to. The first that is there is followed. */
const AROUND_RENDER = ['data', 'task', 'job', 'prediction', 'generation', 'render', 'operation', 'response', 'payload']
const AROUND_OUTPUT = ['output', 'result', 'video']
const DEPTH_MAX = 4

const IDS = ['id', 'taskid', 'videoid', 'generationid', 'jobid', 'predictionid', 'renderid', 'operationid', 'uuid']
const STATUSES = ['status', 'taskstatus', 'state', 'taskstate', 'jobstatus', 'videostatus', 'generationstatus']
const ENDED = ['done', 'completed', 'finished', 'isfinished', 'iscompleted']
const PROGRESS = ['progress', 'percent', 'percentage', 'progresspercent', 'progresspercentage']
const SECONDS = ['seconds', 'duration', 'durationseconds', 'videoduration', 'nseconds']
const COMPLETED_AT = ['completedat', 'finishedat', 'endedat']
const LISTS = ['data', 'items', 'results', 'videos', 'tasks', 'list', 'records']

function layersOf(json: unknown): ReplyLayer[] {
  const layers: ReplyLayer[] = []
  let value = only(json)
  let holds_output = false
  while (value !== null && layers.length < DEPTH_MAX) {
    const members = new Map(Object.entries(value).map(([name, each]) => [plainWord(name), each]))
    layers.push({ members, holds_output })
    const [name] = [...AROUND_RENDER, ...AROUND_OUTPUT].filter((each) => only(members.get(each)) !== null)
    value = name === undefined ? null : only(members.get(name))
    holds_output ||= name !== undefined && AROUND_OUTPUT.includes(name)
  }
  return layers
}

/** An object, or the only one of a list. */
function only(value: unknown): Record<string, unknown> | null {
  if (!Array.isArray(value)) return asRecord(value)
  return value.length === 1 ? asRecord(value[0]) : null
}

/** A wrapper's "success" is about the call: only an object that names the render, or has no render inside, can say that it is done. */
function statusIn(layers: readonly ReplyLayer[]): string | null {
  for (const [i, { members }] of [...layers.entries()].reverse()) {
    const word = wordIn(members)
    const isOfTheCall = word !== null && renderStageOf(word) === 'done' && layers[i + 1]?.holds_output === false
    if (word !== null && !(isOfTheCall && ownId(members) === undefined)) return word
    const ended = ENDED.map((name) => members.get(name)).find((value) => typeof value === 'boolean')
    if (ended !== undefined) return ended ? 'done' : 'running'
  }
  return null
}

function wordIn(members: ReplyLayer['members']): string | null {
  for (const name of STATUSES) {
    const value = members.get(name)
    if (typeof value === 'string' && value.trim() !== '') return value.trim()
    // From 100 on it is the status of a call.
    if (typeof value === 'number' && value < 100) return String(value)
  }
  return null
}

/** An id of the render, else of what it came to, else a bare one in a wrapper. */
function renderId(layers: readonly ReplyLayer[]): string | undefined {
  const inner = layers.toReversed()
  return [
    ...inner.filter(({ holds_output }) => !holds_output).map(({ members }) => ownId(members)),
    ...inner.filter(({ holds_output }) => holds_output).map(({ members }) => ownId(members)),
    ...inner.flatMap(({ members }) => [...AROUND_RENDER, ...AROUND_OUTPUT].map((name) => bareId(members.get(name)))),
  ].find((id) => id !== undefined)
}

/** The id by which an object names itself. */
export function ownId(members: ReplyLayer['members']): string | undefined {
  return IDS.map((name) => textId(members.get(name))).find((id) => id !== undefined)
}

function textId(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined
}

function bareId(value: unknown): string | undefined {
  return typeof value === 'string' && /^(?=.*\d)[\w.:-]{8,}$/.test(value) ? value : undefined
}

/** Whether there is something in a value: an error of `{code: 0, message: ''}` is none. */
export function isFilled(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== ''
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isFilled)
  return value === true || (typeof value === 'number' && value !== 0)
}
