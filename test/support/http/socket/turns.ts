import assert from 'node:assert/strict'
import { type Message, openSocket, type SocketClient } from './client.ts'

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error'])

/** A connection of this person, by API key, whose turns are asked one by one. */
export type TurnSocket = SocketClient & {
  /** Sends `response.create` and gives its events up to the terminal one. */
  turn(body: Record<string, unknown>): Promise<Turn>
  /** The events of the next turn, up to the terminal one. */
  events(): Promise<Turn>
}

export type Turn = {
  events: Message[]
  /** The terminal message. */
  last: Message
  /** The response it ends with; undefined for an `error`. */
  response: Message
}

export async function turnSocket(url: string, caller: { key: string }): Promise<TurnSocket> {
  const client = await openSocket(url, { headers: { authorization: `Bearer ${caller.key}` } })
  const events = async (): Promise<Turn> => {
    const list: Message[] = []
    do list.push(await client.next())
    while (!TERMINAL.has(list.at(-1)!.type))
    const last = list.at(-1)!
    return { events: list, last, response: last.response }
  }
  return {
    ...client,
    events,
    turn(body) {
      client.send({ type: 'response.create', model: 'far-1', input: 'Hello', ...body })
      return events()
    },
  }
}

/** The turn ended in an `error` event of this status and code, in the shape that clients read. */
export function assertError(
  { events, last }: Pick<Turn, 'events' | 'last'>,
  wanted: { status: number; code: string; param?: string | null; message?: RegExp },
): void {
  assert.equal(events.length, 1, JSON.stringify(events.map(({ type }) => type)))
  const { type, status, error } = last
  assert.equal(type, 'error')
  assert.deepEqual({ status, code: error?.code }, { status: wanted.status, code: wanted.code }, JSON.stringify(last))
  assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type'])
  if (wanted.param !== undefined) assert.equal(error.param, wanted.param, JSON.stringify(last))
  if (wanted.message) assert.match(error.message, wanted.message)
}
