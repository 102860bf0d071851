import Type from 'typebox'
import type { EntryMistake } from '../engine-entry.ts'
import {
  completeChoice,
  type InstructionMessage,
  imagePart,
  OpenaiClientOptions,
  openaiClient,
  openaiClientMistakes,
} from '../openai-client.ts'
import { unreadableReply } from '../reply-error.ts'
import type { ModerationEngine, ModerationInput, ModerationResult } from './contract.ts'
import { breakMarkers, DEFAULT_POLICY, GUARD_FORMATS, type GuardVerdict, readProbability } from './guard-formats.ts'

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

/** A guard model behind chat completions. Only a complete answer that is exactly the model's way of saying "safe" allows. */
export function chatGuard(options: ChatGuardOptions): ModerationEngine {
  const client = openaiClient(options)
  const format = GUARD_FORMATS[options.format]
  const sees_images = options.images ?? format.sees_images
  const { model } = options

  async function judge(text: string, image: ModerationInput['image'], signal: AbortSignal): Promise<ModerationResult> {
    const content = image === null ? text : [{ type: 'text' as const, text }, imagePart(image)]
    const messages: InstructionMessage[] = [{ role: 'user', content }]
    if (format.question !== null)
      messages.unshift({ role: 'system', content: `${options.policy ?? DEFAULT_POLICY}\n\n${format.question}` })
    const { block_above } = options
    const asked = { model, messages, ...format.options, ...(block_above !== undefined && PROBABILITIES) }
    const { text: answer, ended_by, logprobs } = await completeChoice(client, asked, { signal })
    const verdict =
      block_above === undefined
        ? readWord(answer, ended_by === 'model')
        : readFirstToken(answer, { logprobs, block_above, may_allow: ended_by !== 'unknown' })
    return { ...verdict, engine: `chat-guard/${options.format}`, version: model }
  }

  /** The word with which a cut answer begins is enough to block. */
  function readWord(answer: string, may_allow: boolean): GuardVerdict {
    const read = format.read(answer.trim(), options.controversial ?? 'block')
    if (read?.verdict !== 'block' && !may_allow) throw unreadableReply('the answer was cut short')
    if (read === null) throw unreadableReply('the answer is no verdict')
    return read
  }

  return {
    sees_images,
    media: options.media ?? 'block',
    moderate: ({ text, image }, signal) => judge(breakMarkers(text), sees_images ? image : null, signal),
    close: () => client.close(),
  }
}

/** The verdict by the first token: models that were trained to explain their word go on until they are cut. */
function readFirstToken(
  answer: string,
  { logprobs, block_above, may_allow }: { logprobs: unknown; block_above: number; may_allow: boolean },
): GuardVerdict {
  if (!/^[^\p{L}\p{N}]*(?:yes|no)(?![\p{L}\p{N}])/iu.test(answer)) throw unreadableReply('the answer is no verdict')
  const read = readProbability(logprobs, block_above)
  if (read === null) throw unreadableReply('the answer has no probabilities of Yes and No')
  if (read.verdict !== 'block' && !may_allow) throw unreadableReply('the answer was cut short')
  return read
}

/** Asks for the tokens that the first word might have been; what follows it is not needed. */
const PROBABILITIES = { logprobs: true, top_logprobs: 20, max_tokens: 8 }

/** Options that contradict the format. */
export function chatGuardMistakes(options: ChatGuardOptions): EntryMistake[] {
  const format = GUARD_FORMATS[options.format]
  const mistakes: EntryMistake[] = []
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
