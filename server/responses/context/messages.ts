import type { ChatMessage, ChatPart, ChatToolCall, TextPart } from '../../engines/chat/contract.ts'
import type { Draft } from './drafts.ts'
import type { Answers } from './pairing.ts'

/**
 * The conversation as a model server takes it: adjacent calls and the text just before them are one message of the assistant, with what
 * it thought before; the outputs follow their calls at once, and after them what they hold beside text, as a message of the user.
 * `answers` says which call each output answers. Source: contract 13.
 */
export function joinDrafts(
  drafts: readonly Draft[],
  { instructions, answers }: { instructions: string | undefined; answers: Answers },
): ChatMessage[] {
  const conversation = openConversation(outputsByCall(drafts, answers))
  if (instructions !== undefined && instructions !== '') {
    conversation.add({ role: 'system', content: instructions })
  }
  for (const [i, draft] of drafts.entries()) {
    switch (draft.kind) {
      case 'thought':
        if (draft.text !== null) conversation.think(draft.text)
        break
      case 'call':
        conversation.call(i, draft.call)
        break
      case 'output':
        conversation.answered()
        break
      case 'said':
        conversation.say(draft)
        break
      case 'message':
        conversation.add(draft.message)
        if (draft.media.length > 0) conversation.add({ role: 'user', content: draft.media })
    }
  }
  return conversation.end()
}

type Said = { content: string | TextPart[] | null; refusal: string | undefined }
type Output = Extract<Draft, { kind: 'output' }>
/** A message of the assistant that may still grow. */
type Open = Said & { calls: Array<{ at: number; call: ChatToolCall }>; thoughts: string[] }

function outputsByCall(drafts: readonly Draft[], answers: Answers): ReadonlyMap<number, Array<[number, Output]>> {
  const outputs = new Map<number, Array<[number, Output]>>()
  for (const [i, draft] of drafts.entries()) {
    const call = draft.kind === 'output' ? answers.get(i) : undefined
    if (draft.kind !== 'output' || call === undefined) continue
    const others = outputs.get(call)
    if (others) others.push([i, draft])
    else outputs.set(call, [[i, draft]])
  }
  return outputs
}

function openConversation(outputs: ReturnType<typeof outputsByCall>) {
  const messages: ChatMessage[] = []
  let open: Open | null = null
  let thoughts: string[] = []

  const close = (): void => {
    if (!open) return
    messages.push(assistantMessage(open))
    if (open.calls.length > 0) for (const message of answersOf(open)) messages.push(message)
    open = null
  }
  const answersOf = ({ calls }: Open): ChatMessage[] => {
    const answered = calls.flatMap(({ at }) => outputs.get(at) ?? []).sort(([a], [b]) => a - b)
    const media: ChatPart[] = answered.flatMap(([, output]) => output.media)
    const told = answered.map(
      ([, { call_id, text }]): ChatMessage => ({ role: 'tool', tool_call_id: call_id, content: text }),
    )
    return media.length > 0 ? [...told, { role: 'user', content: media }] : told
  }
  const begin = (said: Said): Open => {
    close()
    open = { ...said, calls: [], thoughts }
    thoughts = []
    return open
  }
  return {
    think: (text: string) => void thoughts.push(text),
    say: (said: Said) => void begin(said),
    call(at: number, call: ChatToolCall) {
      // Calls stay together whatever was thought between them; a text only with what follows it directly.
      const grows: Open =
        open && (open.calls.length > 0 || thoughts.length === 0) ? open : begin({ content: null, refusal: undefined })
      for (const thought of thoughts) grows.thoughts.push(thought)
      thoughts = []
      grows.calls.push({ at, call })
    },
    /** Calls after an output are the model's next message. */
    answered: close,
    add(message: ChatMessage) {
      close()
      thoughts = []
      messages.push(message)
    },
    end() {
      close()
      return messages
    },
  }
}

function assistantMessage({ content, refusal, calls, thoughts }: Open): ChatMessage {
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(calls.length > 0 && { tool_calls: calls.map(({ call }) => call) }),
    ...(refusal !== undefined && { refusal }),
    ...(thoughts.length > 0 && { reasoning: thoughts.join('\n\n') }),
  }
}
