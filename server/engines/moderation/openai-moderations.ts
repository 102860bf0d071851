import Type from 'typebox'
import { asRecord } from '../../platform/json/record.ts'
import { type ContentPart, imagePart, OpenaiClientOptions, openaiClient, postJson } from '../openai-client.ts'
import { unreadableReply } from '../reply-error.ts'
import type { ModerationEngine, ModerationInput, ModerationResult } from './contract.ts'

/** `thresholds`: the score from which a category blocks; categories without one follow the engine's own judgement. */
export const OpenaiModerationsOptions = Type.Object(
  {
    kind: Type.Literal('openai-moderations'),
    ...OpenaiClientOptions,
    model: Type.Optional(Type.String({ minLength: 1 })),
    thresholds: Type.Optional(Type.Record(Type.String({ minLength: 1 }), Type.Number({ minimum: 0, maximum: 1 }))),
  },
  { additionalProperties: false },
)
export type OpenaiModerationsOptions = Type.Static<typeof OpenaiModerationsOptions>

/** OpenAI's moderation endpoint and what speaks like it; one picture a call. Source: `resources/moderations.ts` of https://www.npmjs.com/package/openai/v/7.55.0 */
export function openaiModerations(options: OpenaiModerationsOptions): ModerationEngine {
  const client = openaiClient(options)
  const { model = 'omni-moderation-latest', thresholds = {} } = options

  async function judge(text: string, image: ModerationInput['image'], signal: AbortSignal): Promise<ModerationResult> {
    const input: ContentPart[] = [{ type: 'text', text }]
    if (image !== null) input.push(imagePart(image))
    const reply = (await postJson(client, '/moderations', { model, input }, { signal })) as {
      results?: unknown
      model?: unknown
    }
    const categories = readResult(reply.results, thresholds, image !== null)
    const version = typeof reply.model === 'string' ? reply.model : model
    return { verdict: categories.length === 0 ? 'allow' : 'block', categories, engine: 'openai-moderations', version }
  }

  return {
    sees_images: true,
    media: 'block',
    moderate: ({ text, image }, signal) => judge(text, image, signal),
    close: () => client.close(),
  }
}

/** The categories that block. Throws EngineError unless the reply blocks, or is one complete, consistent result that covers what was sent. */
function readResult(results: unknown, thresholds: Record<string, number>, withImage: boolean): string[] {
  const all = Array.isArray(results) ? results.map(asRecord) : []
  // What is blocked stays blocked, however odd the rest of the reply.
  const blocked = [...new Set(all.flatMap((each) => (each === null ? [] : blockedBy(each, thresholds))))]
  if (blocked.length > 0) return blocked

  const [result, ...more] = all
  if (!result || more.length > 0) throw unreadableReply('it does not hold one result')
  const categories = asRecord(result.categories)
  if (typeof result.flagged !== 'boolean' || categories === null || Object.keys(categories).length === 0)
    throw unreadableReply('the result has no verdict')
  if (withImage && !sawImage(result.category_applied_input_types))
    throw unreadableReply('the picture was not looked at')
  if (Object.values(categories).some((value) => typeof value !== 'boolean' && value !== null))
    throw unreadableReply('a category is neither true nor false')
  if (Object.keys(thresholds).some((name) => scoreOf(result, name) === null))
    throw unreadableReply('a score is missing')
  return []
}

/** A category with a threshold blocks by its score, any other by the engine's judgement; a flag that no category explains blocks too. */
function blockedBy(result: Record<string, unknown>, thresholds: Record<string, number>): string[] {
  const flagged = Object.entries(asRecord(result.categories) ?? {}).filter(([, value]) => value === true)
  const names = flagged.map(([name]) => name).filter((name) => thresholds[name] === undefined)
  const scored = Object.entries(thresholds).filter(([name, threshold]) => (scoreOf(result, name) ?? -1) >= threshold)
  const unexplained = result.flagged === true && flagged.length === 0 ? ['flagged'] : []
  return [...names, ...scored.map(([name]) => name), ...unexplained]
}

function scoreOf(result: Record<string, unknown>, name: string): number | null {
  const score = asRecord(result.category_scores)?.[name]
  return typeof score === 'number' && Number.isFinite(score) ? score : null
}

function sawImage(applied: unknown): boolean {
  const types = asRecord(applied)
  return types !== null && Object.values(types).some((list) => Array.isArray(list) && list.includes('image'))
}
