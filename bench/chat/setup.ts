import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { BENCH_CONFIG, type BenchService, startService } from '../support/service.ts'
import { caller } from '../videos/create.ts'
import type { ChatLoad, ChatLoaded } from './client.ts'

export type Upstream = { url: string; stop(): Promise<void> }

const ROOT = join(import.meta.dirname, '..', '..')

/** A model server that costs next to nothing, in a process of its own: 500 bytes plain, or events one after another. */
export async function startUpstream(options: { events: number; gap_ms: number }): Promise<Upstream> {
  const script = join(ROOT, 'test', 'support', 'upstream', 'chat-upstream.ts')
  const numbers = ['--events', String(options.events), '--gap_ms', String(options.gap_ms)]
  const child = spawnNode([script, '--fast', ...numbers])
  return { url: /http\S+/.exec(await firstLine(child))![0], stop: () => stop(child) }
}

/** A model server whose events say when they were sent. */
export async function startStampedUpstream(options: { events: number; gap_ms: number }): Promise<Upstream> {
  const { events, gap_ms } = options
  const child = spawnNode([join(import.meta.dirname, 'upstream.ts'), String(events), String(gap_ms)])
  return { url: `http://127.0.0.1:${await firstLine(child)}/v1`, stop: () => stop(child) }
}

/** The service with that model server as `fast-1`. */
export function startChatService(upstream: Upstream, node?: string[]): Promise<BenchService> {
  const engine = `{ kind: openai, base_url: "${upstream.url}", model: fast }`
  const model = `{ id: fast-1, engine: ${engine}, price_per_million: { input: "0.10", output: "0.40" } }`
  const config = `${BENCH_CONFIG}chat_models:\n  - ${model}\n`
  return startService(node ? { config, node } : { config })
}

/** A short conversation. */
export function chatBody(stream: boolean): string {
  const messages = [
    { role: 'system', content: 'You are a careful assistant. Answer in one paragraph.' },
    { role: 'user', content: 'Describe a paper boat on a calm lake at dawn.' },
  ]
  return JSON.stringify({ model: 'fast-1', messages, temperature: 0.7, max_tokens: 400, ...(stream && { stream }) })
}

/** What each server under test is asked with: its own address, the same body. */
export function chatLoad(
  base: string,
  service: BenchService,
  stream: boolean,
): Pick<ChatLoad, 'url' | 'headers' | 'body'> {
  return { url: `${base}/chat/completions`, headers: caller(service), body: chatBody(stream) }
}

/** Runs the client in another process. Throws unless every answer was good. */
export async function chat(load: ChatLoad): Promise<ChatLoaded> {
  const child = spawnNode([join(import.meta.dirname, 'client.ts'), JSON.stringify(load)])
  let output = ''
  child.stdout!.on('data', (piece) => {
    output += piece
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the chat client ended with ${code}`)
  const loaded = JSON.parse(output) as ChatLoaded
  if (loaded.failed > 0 || loaded.answers === 0)
    throw new Error(`${loaded.failed} of ${loaded.answers} answers were bad`)
  return loaded
}

export function spawnNode(args: string[], env: NodeJS.ProcessEnv = process.env): ChildProcess {
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env })
}

export async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = await Promise.race([
    once(child.stdout!, 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`ended with ${code} before it was ready`))),
  ])
  return String(line).trim()
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
