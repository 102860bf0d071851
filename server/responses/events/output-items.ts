import type { ChatEvent } from '../../engines/chat/contract.ts'
import { callId, itemId, type OutputKind } from '../ids.ts'
import type { ToolOrigin } from '../request/tools.ts'
import type { ResponseObject } from '../schema/response.ts'
import {
  type Ending,
  type OpenCall,
  type OpenMessage,
  type OpenReasoning,
  openCall,
  openMessage,
  openReasoning,
  type Showing,
  type Tell,
} from './open-items.ts'

/** What of an engine's events makes items. */
export type Said = Exclude<ChatEvent, { type: 'finish' | 'choice-usage' | 'end' }>

/** The items of one answer, one open at a time. */
export type OutputItems = {
  say(said: Said): void
  /** Closes everything. An answer without text and calls gets an empty message when it is `completed`. */
  finish(ending: Ending): void
  /** Closes what was opened, and forgets what was held back. */
  abandon(): void
}

type Open = OpenMessage | OpenReasoning | OpenCall

/**
 * Puts what a model says in order: item after item, each in `response.output` from the moment it is told. Of calls that arrive
 * interleaved the later ones wait, with all that follows them, until the arguments of the open one are a whole object or the answer
 * ends. `tools` are the client's tools by the names the model knows.
 */
export function outputItems(
  response: Pick<ResponseObject, 'id' | 'output'>,
  tell: Tell,
  { tools, showing }: { tools: ReadonlyMap<string, ToolOrigin>; showing: Showing },
): OutputItems {
  let open: Open | null = null
  let held: Said[] = []
  const closedCalls = new Set<number>()
  const callIds = new Set<string>()

  const place = (kind: OutputKind) => {
    const output_index = response.output.length
    return { id: itemId(response.id, kind, output_index), output_index }
  }

  const openFor = (said: Said): Open => {
    if (said.type === 'reasoning-delta') return openReasoning(tell, place('rs'), showing)
    if (said.type !== 'tool-call-delta') return openMessage(tell, place('msg'))
    const { name = '', id, call } = said
    const tool = tools.get(name) ?? { kind: 'function', name }
    const at = place(tool.kind === 'custom' ? 'ctc' : 'fc')
    const call_id = callId(response.id, at.output_index, id !== undefined && callIds.has(id) ? undefined : id)
    callIds.add(call_id)
    return openCall(tell, at, { call, call_id, tool })
  }

  const close = (ending: Ending): void => {
    if (open?.kind === 'call') closedCalls.add(open.call)
    open?.close(ending)
    open = null
  }

  const say = (said: Said): void => {
    if (saysNothing(said) || (said.type === 'tool-call-delta' && closedCalls.has(said.call))) return
    if (open === null || !belongs(open, said)) {
      if (isUnfinishedCall(open)) return void held.push(said)
      close('completed')
      open = openFor(said)
      response.output.push(open.item)
    }
    deliver(open, said)
    if (held.length > 0 && !isUnfinishedCall(open)) release('completed')
  }

  /** Closes the open item and says again what was held back: the call that comes first among it opens, so each time less is held. */
  const release = (ending: Ending): void => {
    close(ending)
    const again = held
    held = []
    for (const said of again) say(said)
  }

  return {
    say,
    finish(ending) {
      while (held.length > 0) release(ending)
      close(ending)
      if (ending === 'incomplete' || response.output.some(({ type }) => type !== 'reasoning')) return
      const message = openMessage(tell, place('msg'))
      response.output.push(message.item)
      message.say('output_text', '')
      message.close(ending)
    },
    abandon() {
      held = []
      close('incomplete')
    },
  }
}

function saysNothing(said: Said): boolean {
  return said.type !== 'tool-call-delta' && said.text === '' && !(said.type === 'text-delta' && said.logprobs?.length)
}

function isUnfinishedCall(open: Open | null): boolean {
  return open?.kind === 'call' && !open.isWhole()
}

function belongs(open: Open, said: Said): boolean {
  if (said.type === 'reasoning-delta') return open.kind === 'reasoning'
  if (said.type === 'tool-call-delta') return open.kind === 'call' && open.call === said.call
  return open.kind === 'message'
}

function deliver(open: Open, said: Said): void {
  if (open.kind === 'message') {
    if (said.type === 'text-delta') open.say('output_text', said.text, said.logprobs)
    else if (said.type === 'refusal-delta') open.say('refusal', said.text)
  } else if (open.kind === 'reasoning') {
    if (said.type === 'reasoning-delta') open.think(said.text)
  } else if (said.type === 'tool-call-delta') open.pass(said.arguments)
}
