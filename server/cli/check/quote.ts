import type { Static } from 'typebox'
import type { ChatModelList } from '../../catalog/schema.ts'
import { formatMoney, parseMoney } from '../../platform/money.ts'
import type { VideoModelList, VideoView } from '../../videos/schema.ts'
import { CAUSES, expect } from './failure.ts'
import type { Target } from './target.ts'

/** What the steps use, and what all of it costs at most. */
export type Quote = {
  video: { model: string; seconds: number; aspect_ratio: VideoView['aspect_ratio']; cost: bigint } | null
  chat: { model: string; cost: bigint } | null
  currency: string
}

/** The models that the caller names, in place of the cheapest ones, and whether a webhook is asked for. */
export type Wishes = { model: string | undefined; chat_model: string | undefined; webhook: boolean }

/** Enough for a stream of many events, and little for a model that reasons first. */
export const OUTPUT_TOKENS = 128
/** More than any template makes of the prompt. */
const INPUT_TOKENS = 512
/** The plain and the streamed completion, the response, the one over WebSocket, and two that find out about buffering. */
const CHAT_REQUESTS = 6

/** Lists the models of the key's plan and chooses among them. Throws StepFailure. */
export async function quote(target: Target, wishes: Wishes): Promise<Quote> {
  const chats = await target.ask<Static<typeof ChatModelList>>('GET', '/v1/models')
  const videos = await target.ask<Static<typeof VideoModelList>>('GET', '/v1/videos/models')
  const video = chosen(
    'GET /v1/videos/models',
    wishes.model,
    videos.data.map(({ id, pricing, seconds, aspect_ratios }) => ({
      model: id,
      seconds: seconds.min,
      aspect_ratio: aspect_ratios.find((ratio) => ratio === '16:9') ?? aspect_ratios[0]!,
      cost: moneyOf(pricing[0]?.per_second) * BigInt(seconds.min),
    })),
  )
  const requests = BigInt(CHAT_REQUESTS + (wishes.webhook ? 1 : 0))
  const chat = chosen(
    'GET /v1/models',
    wishes.chat_model,
    chats.data.map(({ id, pricing }) => {
      const input = moneyOf(pricing.input_per_million) * BigInt(INPUT_TOKENS)
      const output = moneyOf(pricing.output_per_million) * BigInt(OUTPUT_TOKENS)
      return { model: id, cost: (requests * (input + output)) / 1_000_000n + 1n }
    }),
  )
  const currency = videos.data[0]?.pricing[0]?.currency ?? chats.data[0]?.pricing.currency ?? ''
  return { video, chat, currency }
}

/** What a run costs at most, and that it costs no more than it may. Throws StepFailure. */
export function affordable({ video, chat, currency }: Quote, max_cost: bigint): string {
  const sum = (video?.cost ?? 0n) + (chat?.cost ?? 0n)
  const parts = [
    ...(video ? [`${amount(video.cost)} for ${video.seconds} s of ${video.model}`] : []),
    ...(chat ? [`${amount(chat.cost)} for tokens of ${chat.model}`] : []),
  ]
  const text = `at most ${amount(sum)} ${currency}: ${parts.join(', ')}`
  expect(sum <= max_cost, {
    sent: 'nothing yet that costs',
    received: text,
    cause: `That is more than --max-cost ${amount(max_cost)}. Raise it, or name a cheaper model with --model and --chat-model.`,
  })
  return text
}

/** Without the zeros at its end, but for two. */
function amount(units: bigint): string {
  return formatMoney(units).replace(/(\.\d\d\d*?)0+$/, '$1')
}

/** The model that is named, else the cheapest; null when there is none at all. */
function chosen<M extends { model: string; cost: bigint }>(
  sent: string,
  named: string | undefined,
  models: M[],
): M | null {
  if (named === undefined) return models.toSorted((a, b) => (a.cost < b.cost ? -1 : a.cost > b.cost ? 1 : 0))[0] ?? null
  const found = models.find(({ model }) => model === named)
  expect(found !== undefined, {
    sent,
    received: `no model ${named} among ${models.map(({ model }) => model).join(', ') || 'none'}`,
    cause: 'The plan of the organization does not include this model, or it has another name.',
  })
  return found
}

function moneyOf(text: string | undefined): bigint {
  const units = parseMoney(text ?? '')
  expect(units !== null, { sent: 'GET of the models', received: `a price of ${text}`, cause: CAUSES.foreign })
  return units
}
