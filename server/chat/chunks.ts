import type { ChatEvent, TokenUsage } from '../engines/chat/contract.ts'
import { DONE } from '../platform/http/sse.ts'
import type { ChatUsage } from './schema.ts'

/** What every chunk of one answer repeats. `model` is the id the client asked for, never the engine's name. */
export type AnswerHead = { id: string; created: number; model: string }

/** Writes the events of one answer as `chat.completion.chunk` frames. Source: contract 9.4. */
export type ChunkWriter = {
  /** The frames of a batch, joined for one write. */
  frames(batch: readonly ChatEvent[]): string
  /** The usage frame, when requested, and the end mark. */
  end(usage: TokenUsage): string
}

/**
 * The constant part of all chunks is serialized once; a token costs one `JSON.stringify` of its text. With `include_usage` every chunk has
 * `usage: null` and a last chunk without choices has the usage; otherwise none has `usage`.
 */
export function chunkWriter(head: AnswerHead, options: { include_usage: boolean }): ChunkWriter {
  const { id, created, model } = head
  const opening = JSON.stringify({ id, object: 'chat.completion.chunk', created, model })
  const before = `data: ${opening.slice(0, -1)},"choices":[{"index":`
  const usage = options.include_usage ? ',"usage":null' : ''
  const after = `,"finish_reason":null}]${usage}}\n\n`
  const started: boolean[] = []

  const chunk = (choice: number, delta: string, logprobs = 'null') =>
    `${before}${choice},"delta":${delta},"logprobs":${logprobs}${after}`

  /** The first chunk of a choice has its role; before a tool call its content is null. */
  const opened = (choice: number, content: '""' | 'null') => {
    if (started[choice]) return ''
    started[choice] = true
    return chunk(choice, `{"role":"assistant","content":${content},"refusal":null}`)
  }

  const frame = (event: ChatEvent): string => {
    switch (event.type) {
      case 'text-delta': {
        const logprobs = event.logprobs && JSON.stringify({ content: event.logprobs, refusal: null })
        return opened(event.choice, '""') + chunk(event.choice, `{"content":${JSON.stringify(event.text)}}`, logprobs)
      }
      case 'reasoning-delta': {
        const text = JSON.stringify(event.text)
        return opened(event.choice, '""') + chunk(event.choice, `{"reasoning_content":${text},"reasoning":${text}}`)
      }
      case 'refusal-delta':
        return opened(event.choice, '""') + chunk(event.choice, `{"refusal":${JSON.stringify(event.text)}}`)
      case 'tool-call-delta':
        return opened(event.choice, 'null') + toolCallChunks(event, (delta) => chunk(event.choice, delta))
      case 'finish': {
        const end = `,"finish_reason":"${event.reason}"}]${usage}}\n\n`
        return `${opened(event.choice, '""')}${before}${event.choice},"delta":{},"logprobs":null${end}`
      }
      case 'finishing':
      case 'choice-usage':
      case 'end':
        return ''
    }
  }

  return {
    frames(batch) {
      let text = ''
      for (const event of batch) text += frame(event)
      return text
    },
    end(tokens) {
      if (!options.include_usage) return DONE
      const text = JSON.stringify({ ...JSON.parse(opening), choices: [], usage: chatUsage(tokens) })
      return `data: ${text}\n\n${DONE}`
    },
  }
}

/** The first chunk of a call has `id`, `type`, `name` and empty arguments; every chunk has `index` and `function`. */
function toolCallChunks(
  event: Extract<ChatEvent, { type: 'tool-call-delta' }>,
  chunk: (delta: string) => string,
): string {
  const { call: index, id, name, extra_content } = event
  let text = ''
  if (id !== undefined) {
    const first = { index, id, type: 'function', function: { name: name ?? '', arguments: '' }, extra_content }
    text += chunk(JSON.stringify({ tool_calls: [first] }))
  }
  const late = id === undefined ? extra_content : undefined
  if (event.arguments !== '' || late !== undefined) {
    const next = { index, function: { arguments: event.arguments }, extra_content: late }
    text += chunk(JSON.stringify({ tool_calls: [next] }))
  }
  return text
}

/** Token usage as clients see it. No engine reports what it wrote to a cache; strict SDKs want the number. */
export function chatUsage(usage: TokenUsage): ChatUsage {
  const { input, cached_input, output, reasoning, audio_input = 0, audio_output = 0 } = usage
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached_input, cache_write_tokens: 0, audio_tokens: audio_input },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: audio_output },
  }
}
