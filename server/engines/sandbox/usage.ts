import { countJsonTokens, countTokensInTurns } from '../../platform/tokenizer.ts'
import type { ChatMessage, ChatPart, ChatRequest } from '../chat.ts'
import { pictureOf } from './media.ts'

/** Tokens of a message beside its texts, and of the beginning of the answer. */
const MESSAGE_TOKENS = 3
const ANSWER_TOKENS = 3
/** Tokens of an image, and of each 512×512 tile of one that is not asked for in low detail. */
const IMAGE_TOKENS = 85
const TILE_TOKENS = 170
/** Clips and sounds are not looked into. */
const VIDEO_TOKENS = 1000
const AUDIO_TOKENS = 250

/**
 * Input tokens: 3 a message plus its role, texts, name (and 1) and tool calls; tools and a schema as JSON text; 3 for the answer's
 * beginning. An image is 85 tokens, plus 170 a tile of 512×512 once it is made to fit 2048×2048 and its shorter side 768, in other
 * than low detail; four tiles where its size is not known. A video is 1,000 tokens, a sound 250.
 * The image rule is OpenAI's of GPT-4o.
 * Source: https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken
 */
export async function countInput(request: ChatRequest, signal: AbortSignal): Promise<number> {
  let count = ANSWER_TOKENS
  const texts: string[] = []
  for (const message of request.messages) {
    count += MESSAGE_TOKENS + (message.role === 'tool' ? 0 : message.name === undefined ? 0 : 1)
    for (const text of textsOf(message)) texts.push(text)
    if (Array.isArray(message.content)) for (const part of message.content) count += mediaTokens(part)
  }
  for (const text of texts) count += await countTokensInTurns(text, signal)
  for (const tool of request.tools ?? []) count += await countJsonTokens(tool.function, signal)
  const format = request.response_format
  if (format?.type === 'json_schema') count += await countJsonTokens(format.json_schema, signal)
  return count
}

function textsOf(message: ChatMessage): string[] {
  const texts: string[] = [message.role]
  if (typeof message.content === 'string') texts.push(message.content)
  else for (const part of message.content ?? []) if (part.type === 'text') texts.push(part.text)
  if (message.role === 'tool') return texts
  if (message.name !== undefined) texts.push(message.name)
  if (message.role !== 'assistant') return texts
  for (const { function: called } of message.tool_calls ?? []) texts.push(called.name, called.arguments)
  for (const text of [message.refusal, message.reasoning]) if (text !== undefined) texts.push(text)
  return texts
}

function mediaTokens(part: ChatPart): number {
  if (part.type === 'text') return 0
  if (part.type === 'video_url') return VIDEO_TOKENS
  if (part.type !== 'image_url') return AUDIO_TOKENS
  if (part.image_url.detail === 'low') return IMAGE_TOKENS
  const picture = pictureOf(part.image_url.url)
  return IMAGE_TOKENS + TILE_TOKENS * tiles(picture?.width ?? 1024, picture?.height ?? 1024)
}

function tiles(width: number, height: number): number {
  const fitting = Math.min(1, 2048 / Math.max(width, height))
  const scale = fitting * Math.min(1, 768 / (Math.min(width, height) * fitting))
  return Math.max(1, Math.ceil((width * scale) / 512)) * Math.max(1, Math.ceil((height * scale) / 512))
}
