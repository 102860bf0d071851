import { pictureSize } from '../../../media/picture-size.ts'
import { countJsonTokens, countTokensInTurns } from '../../../platform/tokenizer.ts'
import type { ChatMessage, ChatPart, ChatRequest } from '../contract.ts'

/** Tokens of a message beside its texts, and of the beginning of the answer. */
const MESSAGE_TOKENS = 3
const ANSWER_TOKENS = 3
/** Tokens of an image, and of each 512×512 tile of one that is not asked for in low detail. Clips and sounds are not looked into. */
const IMAGE_TOKENS = 85
const TILE_TOKENS = 170
const VIDEO_TOKENS = 1000
const AUDIO_TOKENS = 250

/**
 * Input tokens: 3 a message plus its role, texts, name (and 1) and tool calls; tools and a schema as JSON text; 3 for the answer's
 * beginning. An image is 85 tokens, plus 170 a tile of 512×512 once it is made to fit 2048×2048 and its shorter side 768, in other
 * than low detail; four tiles where its size is not known. A video is 1,000 tokens, a sound 250.
 * Of more than `most` only that much is counted.
 * The image rule is OpenAI's of GPT-4o. Source: https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken
 */
export async function countInput(
  request: ChatRequest,
  signal: AbortSignal,
  most = Number.POSITIVE_INFINITY,
): Promise<number> {
  const { messages, tools = [], response_format: format } = request
  let count = ANSWER_TOKENS
  const rest = () => ({ signal, most: most - count })
  for (const message of messages) {
    if (count > most) return count
    count += MESSAGE_TOKENS + ('name' in message && message.name !== undefined ? 1 : 0)
    for (const text of textsOf(message)) count += await countTokensInTurns(text, rest())
    if (Array.isArray(message.content)) for (const part of message.content) count += mediaTokens(part)
  }
  for (const tool of tools) count += await countJsonTokens(tool.function, rest())
  return format?.type === 'json_schema' ? count + (await countJsonTokens(format.json_schema, rest())) : count
}

function textsOf(message: ChatMessage): string[] {
  const { content } = message
  const texts =
    typeof content === 'string' ? [content] : (content ?? []).flatMap((part) => ('text' in part ? part.text : []))
  const { name, refusal, reasoning, tool_calls = [] } = { ...(message as Extract<ChatMessage, { role: 'assistant' }>) }
  const calls = tool_calls.flatMap(({ function: called }) => [called.name, called.arguments])
  return [message.role, ...texts, ...calls, ...[name, refusal, reasoning].filter((text) => text !== undefined)]
}

function mediaTokens(part: ChatPart): number {
  if (part.type === 'text') return 0
  if (part.type !== 'image_url') return part.type === 'video_url' ? VIDEO_TOKENS : AUDIO_TOKENS
  if (part.image_url.detail === 'low') return IMAGE_TOKENS
  const { width, height } = pictureSize(part.image_url.url) ?? { width: 1024, height: 1024 }
  const fitting = Math.min(1, 2048 / Math.max(width, height))
  const scale = fitting * Math.min(1, 768 / (Math.min(width, height) * fitting))
  const tiles = (side: number) => Math.max(1, Math.ceil((side * scale) / 512))
  return IMAGE_TOKENS + TILE_TOKENS * tiles(width) * tiles(height)
}
