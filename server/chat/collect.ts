import type { ChatEvent, ExtraContent, FinishReason, TokenLogprob, TokenUsage } from '../engines/chat/contract.ts'
import { type AnswerHead, chatUsage } from './chunks.ts'
import type { Exchange } from './exchange.ts'
import type { ChatCompletion } from './schema.ts'

type Call = { id: string; name: string; arguments: string; extra_content?: ExtraContent }
type Choice = {
  text: string
  reasoning: string
  refusal: string
  calls: Call[]
  logprobs: TokenLogprob[] | null
  finish_reason: FinishReason
}

/** The plain answer: a fold over the events that a stream would send. */
export async function collectAnswer(exchange: Exchange, head: AnswerHead): Promise<ChatCompletion> {
  const choices: Choice[] = []
  let usage: TokenUsage = { input: 0, cached_input: 0, output: 0, reasoning: 0 }
  for (let batch: readonly ChatEvent[] | null = exchange.first; batch; batch = await exchange.next()) {
    for (const event of batch) {
      if (event.type === 'end') {
        usage = event.usage ?? usage
      } else {
        choices[event.choice] ??= emptyChoice()
        fold(choices[event.choice]!, event)
      }
    }
  }
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: choices.map(choiceView),
    usage: chatUsage(usage),
    service_tier: 'default',
  }
}

function emptyChoice(): Choice {
  return { text: '', reasoning: '', refusal: '', calls: [], logprobs: null, finish_reason: 'stop' }
}

function fold(choice: Choice, event: Exclude<ChatEvent, { type: 'end' }>): void {
  switch (event.type) {
    case 'text-delta':
      choice.text += event.text
      if (event.logprobs) {
        choice.logprobs ??= []
        for (const each of event.logprobs) choice.logprobs.push(each)
      }
      break
    case 'reasoning-delta':
      choice.reasoning += event.text
      break
    case 'refusal-delta':
      choice.refusal += event.text
      break
    case 'tool-call-delta':
      choice.calls[event.call] ??= { id: event.id ?? '', name: event.name ?? '', arguments: '' }
      choice.calls[event.call]!.arguments += event.arguments
      if (event.extra_content) choice.calls[event.call]!.extra_content = event.extra_content
      break
    case 'finish':
      choice.finish_reason = event.reason
  }
}

function choiceView(choice: Choice, index: number): ChatCompletion['choices'][number] {
  const { text, reasoning, refusal, calls, logprobs, finish_reason } = choice
  const hasOtherContent = text === '' && (calls.length > 0 || refusal !== '')
  return {
    index,
    message: {
      role: 'assistant',
      content: hasOtherContent ? null : text,
      refusal: refusal === '' ? null : refusal,
      // Some clients read one name, some the other.
      ...(reasoning === '' ? {} : { reasoning_content: reasoning, reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(callView) }),
    },
    logprobs: logprobs && { content: logprobs, refusal: null },
    finish_reason,
  }
}

function callView({ id, name, arguments: text, extra_content }: Call) {
  const called = { id, type: 'function' as const, function: { name, arguments: text } }
  return extra_content ? { ...called, extra_content } : called
}
