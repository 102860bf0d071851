import { join } from 'node:path'
import { firstLine, outputOf, spawnNode, stop } from '../support/child.ts'
import { amountOf } from '../support/rounds.ts'
import { BENCH_CONFIG, type BenchService, caller, startService } from '../support/service.ts'
import type { ChatLoad, ChatLoaded } from './client.ts'

export type Upstream = { url: string; stop(): Promise<void> }

/** Streams as from a model: the gap is long enough that events come one by one and are not read several at once. */
export const STREAMED = { events: 200, gap_ms: 10 }
/** Streams before the first round, since 20,000 of them would take an hour: 160,000 events. */
export const WARM_STREAMS = amountOf(800)

/** A model server that uses almost no CPU, in a process of its own: 500 bytes plain, or events one after another. */
export async function startUpstream(options: { events: number; gap_ms: number }): Promise<Upstream> {
  const { events, gap_ms } = options
  const child = spawnNode([join(import.meta.dirname, 'fast-upstream.ts'), String(events), String(gap_ms)], 'generator')
  return { url: await firstLine(child), stop: () => stop(child) }
}

/** A model server whose events say when they were sent. */
export async function startStampedUpstream(options: { events: number; gap_ms: number }): Promise<Upstream> {
  const { events, gap_ms } = options
  const child = spawnNode([join(import.meta.dirname, 'upstream.ts'), String(events), String(gap_ms)], 'generator')
  return { url: `http://127.0.0.1:${await firstLine(child)}/v1`, stop: () => stop(child) }
}

/** The service with that model server as `fast-1`. `config`: more lines of its configuration. */
export function startChatService(
  upstream: Upstream,
  { node = [], config: more = '', pinned = true }: { node?: string[]; config?: string; pinned?: boolean } = {},
): Promise<BenchService> {
  const engine = `{ kind: openai, base_url: "${upstream.url}", model: fast }`
  const model = `{ id: fast-1, engine: ${engine}, price_per_million: { input: "0.10", output: "0.40" } }`
  const config = `${BENCH_CONFIG}${more}chat_models:\n  - ${model}\n`
  return startService({ config, node, pinned })
}

/** A short conversation. */
export function chatBody(stream: boolean, model = 'fast-1'): string {
  const messages = [
    { role: 'system', content: 'You are a careful assistant. Answer in one paragraph.' },
    { role: 'user', content: 'Describe a paper boat on a calm lake at dawn.' },
  ]
  return JSON.stringify({ model, messages, temperature: 0.7, max_tokens: 400, ...(stream && { stream }) })
}

/** The request for each server under test: its own address, the same body. */
export function chatLoad(
  base: string,
  service: BenchService,
  stream: boolean,
): Pick<ChatLoad, 'url' | 'headers' | 'body'> {
  return { url: `${base}/chat/completions`, headers: caller(service), body: chatBody(stream) }
}

/** Runs the client in another process. Throws unless every request succeeded. */
export async function chat(load: ChatLoad): Promise<ChatLoaded> {
  const output = await outputOf(spawnNode([join(import.meta.dirname, 'client.ts'), JSON.stringify(load)], 'generator'))
  const loaded = JSON.parse(output) as ChatLoaded
  if (loaded.failed > 0 || loaded.answers === 0)
    throw new Error(`${loaded.failed} of ${loaded.answers} answers were bad`)
  return loaded
}
