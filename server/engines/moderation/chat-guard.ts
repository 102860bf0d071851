import Type from 'typebox'
import type { Mistake } from '../engine-entry.ts'
import {
  type ChatMessage,
  completeChoice,
  imagePart,
  OpenaiClientOptions,
  openaiClient,
  openaiClientMistakes,
} from '../openai-client.ts'
import { unreadableReply } from '../reply-error.ts'
import type { ModerationEngine, ModerationInput, ModerationResult } from './contract.ts'
import { DEFAULT_POLICY, GUARD_FORMATS, readProbability } from './guard-formats.ts'
import { judgeEach } from './judge-each.ts'

/**
 * `format`: how the guard model is asked and how it answers. `policy`: what is forbidden, for the formats that take one; the
 * question and the form of the answer are added. `controversial`: what Qwen3Guard's middle verdict means. `images`: whether the model sees
 * pictures; `media` counts where it does not. `block_above`: the probability of Yes above which the format `yes-no` blocks, whatever the word.
 */
export const ChatGuardOptions = Type.Object(
  {
    kind: Type.Literal('chat-guard'),
    ...OpenaiClientOptions,
    format: Type.Enum(['llama-guard', 'qwen3guard', 'gpt-oss-safeguard', 'yes-no']),
    model: Type.String({ minLength: 1 }),
    policy: Type.Optional(Type.String({ minLength: 1 })),
    controversial: Type.Optional(Type.Enum(['allow', 'block'])),
    block_above: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    images: Type.Optional(Type.Boolean()),
    media: Type.Optional(Type.Enum(['allow', 'block'])),
  },
  { additionalProperties: false },
)
export type ChatGuardOptions = Type.Static<typeof ChatGuardOptions>

/** A guard model behind chat completions. Only an answer that is exactly the model's way of saying "safe" allows. */
export function chatGuard(options: ChatGuardOptions): ModerationEngine {
  const client = openaiClient(options)
  const format = GUARD_FORMATS[options.format]
  const sees_images = options.images ?? format.sees_images
  const { model } = options

  async function judge(
    text: string,
    image: ModerationInput['images'][number] | null,
    signal: AbortSignal,
  ): Promise<ModerationResult> {
    const parts = image === null ? text : [{ type: 'text' as const, text }, imagePart(image)]
    const messages: ChatMessage[] = [{ role: 'user', content: parts }]
    if (format.question !== null)
      messages.unshift({ role: 'system', content: `${options.policy ?? DEFAULT_POLICY}\n\n${format.question}` })
    const { block_above } = options
    const asked = { model, messages, ...format.options, ...(block_above !== undefined && PROBABILITIES) }
    const { text: answer, logprobs } = await completeChoice(client, asked, signal)
    const word = format.read(answer.trim(), options.controversial ?? 'block')
    if (word === null) throw unreadableReply('the answer is no verdict')
    const read = block_above === undefined ? word : readProbability(logprobs, block_above)
    if (read === null) throw unreadableReply('the answer has no probabilities of Yes and No')
    return { ...read, engine: `chat-guard/${options.format}`, version: model }
  }

  return {
    sees_images,
    media: options.media ?? 'block',
    moderate: (input, signal) =>
      judgeEach(sees_images ? input : { ...input, images: [] }, (text, image) => judge(text, image, signal)),
    close: () => client.close(),
  }
}

/** Asks for the tokens that the first word might have been. */
const PROBABILITIES = { logprobs: true, top_logprobs: 20 }

/** Options that contradict the format. */
export function chatGuardMistakes(options: ChatGuardOptions): Mistake[] {
  const format = GUARD_FORMATS[options.format]
  const mistakes: Mistake[] = []
  if (options.images === true && !format.sees_images)
    mistakes.push({ path: 'images', message: `Models of the format ${options.format} do not see pictures.` })
  if (options.policy !== undefined && format.question === null)
    mistakes.push({ path: 'policy', message: `Models of the format ${options.format} bring their own policy.` })
  if (options.controversial !== undefined && options.format !== 'qwen3guard')
    mistakes.push({ path: 'controversial', message: 'Is a verdict of the format qwen3guard only.' })
  if (options.block_above !== undefined && options.format !== 'yes-no')
    mistakes.push({ path: 'block_above', message: 'Is for the format yes-no only.' })
  return [...mistakes, ...openaiClientMistakes(options)]
}
