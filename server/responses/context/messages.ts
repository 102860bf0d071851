import type { ChatMessage, ChatPart, ChatToolCall, TextPart } from '../../engines/chat/contract.ts'
import type { Draft } from './drafts.ts'
import type { OutputCalls } from './pairing.ts'

/**
 * Joins drafts into the messages that a model server takes: adjacent calls, the text just before them and the reasoning before that are
 * one assistant message; the outputs of its calls follow at once, then their media as a user message. A message between a call and its
 * output goes before the call. `callOfOutput` says which call each output belongs to. Source: contract 13.
 */
export function joinDrafts(
  drafts: readonly Draft[],
  { instructions, callOfOutput }: { instructions: string | undefined; callOfOutput: OutputCalls },
): ChatMessage[] {
  const messages = messageJoiner(outputsByCall(drafts, callOfOutput))
  if (instructions !== undefined && instructions !== '') {
    messages.add(0, { role: 'system', content: instructions })
  }
  for (const [i, draft] of drafts.entries()) {
    switch (draft.kind) {
      case 'reasoning':
        if (draft.text !== null) messages.addReasoning(draft.text)
        break
      case 'call':
        messages.addCall(i, draft.call)
        break
      case 'output':
        messages.endCalls(i)
        break
      case 'assistant':
        messages.addText(i, draft)
        break
      case 'message':
        messages.add(i, draft.message)
        if (draft.media.length > 0) messages.add(i, { role: 'user', content: draft.media })
    }
  }
  return messages.end()
}

type AssistantText = { content: string | TextPart[] | null; refusal: string | undefined }
type Output = Extract<Draft, { kind: 'output' }>
/** An assistant message that may still grow. `answered_at`: the index by which each of its calls has an output. */
type OpenAssistant = AssistantText & {
  calls: Array<{ index: number; call: ChatToolCall }>
  reasoning: string[]
  answered_at: number
  has_output: boolean
}

function outputsByCall(
  drafts: readonly Draft[],
  callOfOutput: OutputCalls,
): ReadonlyMap<number, Array<[number, Output]>> {
  const outputs = new Map<number, Array<[number, Output]>>()
  for (const [i, draft] of drafts.entries()) {
    const call = draft.kind === 'output' ? callOfOutput.get(i) : undefined
    if (draft.kind !== 'output' || call === undefined) continue
    const others = outputs.get(call)
    if (others) others.push([i, draft])
    else outputs.set(call, [[i, draft]])
  }
  return outputs
}

function messageJoiner(outputs: ReturnType<typeof outputsByCall>) {
  const messages: ChatMessage[] = []
  let open: OpenAssistant | null = null
  let reasoning: string[] = []

  const close = (): void => {
    if (!open) return
    messages.push(assistantMessage(open))
    if (open.calls.length > 0) for (const message of outputsOf(open)) messages.push(message)
    open = null
  }
  const outputsOf = ({ calls }: OpenAssistant): ChatMessage[] => {
    const drafts = calls.flatMap(({ index }) => outputs.get(index) ?? []).sort(([a], [b]) => a - b)
    const media: ChatPart[] = drafts.flatMap(([, output]) => output.media)
    const results = drafts.map(
      ([, { call_id, text }]): ChatMessage => ({ role: 'tool', tool_call_id: call_id, content: text }),
    )
    return media.length > 0 ? [...results, { role: 'user', content: media }] : results
  }
  const begin = (text: AssistantText): OpenAssistant => {
    close()
    open = { ...text, calls: [], reasoning, answered_at: -1, has_output: false }
    reasoning = []
    return open
  }
  /** The open message if the output of one of its calls is still to come at `index`. Its text so far goes before what comes now. */
  const unanswered = (index: number): OpenAssistant | null => {
    if (open === null || open.answered_at <= index) return null
    const { content, refusal } = open
    if (hasText(open)) messages.push(assistantMessage({ ...NO_CALLS, content, refusal }))
    Object.assign(open, NO_TEXT)
    return open
  }
  return {
    addReasoning: (text: string) => void reasoning.push(text),
    addText(index: number, text: AssistantText) {
      const message = unanswered(index)
      if (message === null) return void begin(text)
      const { content, refusal } = text
      Object.assign(message, { content, refusal, reasoning: [...message.reasoning, ...reasoning] })
      reasoning = []
    },
    addCall(index: number, call: ChatToolCall) {
      // Calls are joined across reasoning between them; text is joined only with a call directly after it. Calls after an output belong to
      // the next message.
      const joins = open !== null && !open.has_output && (open.calls.length > 0 || reasoning.length === 0)
      const message: OpenAssistant = joins ? open! : begin(NO_TEXT)
      for (const text of reasoning) message.reasoning.push(text)
      reasoning = []
      message.calls.push({ index, call })
      message.answered_at = Math.max(message.answered_at, outputs.get(index)?.[0]?.[0] ?? -1)
    },
    /** An output: the message ends with the last one that its calls wait for. */
    endCalls(index: number) {
      if (open === null) return
      open.has_output = true
      if (open.answered_at <= index) close()
    },
    add(index: number, message: ChatMessage) {
      if (unanswered(index) === null) close()
      reasoning = []
      messages.push(message)
    },
    end() {
      close()
      return messages
    },
  }
}

const NO_TEXT: AssistantText = { content: null, refusal: undefined }
const NO_CALLS = { calls: [], reasoning: [], answered_at: -1, has_output: false }

function hasText({ content, refusal }: AssistantText): boolean {
  return (content !== null && content.length > 0) || refusal !== undefined
}

function assistantMessage({ content, refusal, calls, reasoning }: OpenAssistant): ChatMessage {
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(calls.length > 0 && { tool_calls: calls.map(({ call }) => call) }),
    ...(refusal !== undefined && { refusal }),
    ...(reasoning.length > 0 && { reasoning: reasoning.join('\n\n') }),
  }
}
