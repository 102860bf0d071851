import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../test/support/listen.ts'
import { chatBody, type Upstream } from '../../chat/setup.ts'
import { stop } from '../../support/child.ts'
import { pinned } from '../../support/cores.ts'

/** Another gateway, running in front of the model server. `url` ends in `/v1`, `model` is its name for the server's model. */
export type Peer = { url: string; headers: Record<string, string>; model: string; pid: number; stop(): Promise<void> }

export type Missing = { missing: string }

export type PeerKind = {
  name: string
  /** What it does not do in this configuration that the service does. */
  lacks: string
  /** Of the answers that the others are asked for: less where one costs milliseconds. */
  share: number
  /** Ours ÷ its. */
  ratio_limit: number
  start(upstream: Upstream): Promise<Peer | Missing>
}

export type Facts = {
  name: string
  /** `dir` is an empty directory for configuration and data, removed in the end. */
  command(at: { dir: string; port: number }): { program: string; args: string[]; env?: Record<string, string> }
  path?: string
  headers?: Record<string, string>
  model?: string
}

const JSON_BODY = { 'content-type': 'application/json' }
/** LiteLLM loads for about five seconds of CPU. */
const START_SECONDS_MAX = 60
/** Then it is killed. */
const STOP_SECONDS_MAX = 10

/**
 * Starts a peer on the cores of the subject, and asks once: it counts only when it answers with what the model server says. It gets no
 * variable of our environment but the path, because a peer takes every key that it finds there for a provider to call.
 */
export async function startPeer(upstream: Pick<Upstream, 'url'>, facts: Facts): Promise<Peer | Missing> {
  const expected = await answerOf({ url: upstream.url, headers: JSON_BODY, model: 'fast' })
  const dir = mkdtempSync(join(tmpdir(), 'kinora-bench-peer-'))
  const port = await freePort()
  const { program, args, env } = facts.command({ dir, port })
  const [file, all] = pinned('subject', program, args)
  const child = spawn(file, all, { cwd: dir, stdio: 'ignore', env: { PATH: process.env.PATH, HOME: dir, ...env } })
  const end = async () => {
    await endOf(child)
    rmSync(dir, { recursive: true, force: true })
  }
  const peer: Peer = {
    url: `http://127.0.0.1:${port}${facts.path ?? '/v1'}`,
    headers: { ...JSON_BODY, ...facts.headers },
    model: facts.model ?? 'fast-1',
    pid: child.pid!,
    stop: end,
  }
  const wrong = await wrongWith(peer, child, expected)
  if (wrong === null) return peer
  await end()
  return { missing: `${facts.name} gives no answer (${wrong})` }
}

/** Null as soon as it answers as expected; else what came in its place last. */
async function wrongWith(peer: Peer, child: ChildProcess, expected: string): Promise<string | null> {
  const until = performance.now() + START_SECONDS_MAX * 1000
  let last = 'none in time'
  while (performance.now() < until) {
    if (child.exitCode !== null || child.signalCode) return `ended with ${child.exitCode ?? child.signalCode}`
    try {
      const answer = await answerOf(peer)
      if (answer === expected) return null
      last = answer
    } catch {
      // It does not listen yet.
    }
    await sleep(100)
  }
  return last.slice(0, 200)
}

/** The text of the answer, or the body when it is none. */
async function answerOf({ url, headers, model }: Pick<Peer, 'url' | 'headers' | 'model'>): Promise<string> {
  const body = chatBody(false, model)
  const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })
  const text = await response.text()
  if (response.status !== 200) return `${response.status} ${text}`
  const { choices } = JSON.parse(text) as { choices?: Array<{ message: { content: string } }> }
  return choices?.[0]?.message.content ?? text
}

/** By SIGTERM, so that it ends its workers too. */
async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await Promise.race([gone, sleep(STOP_SECONDS_MAX * 1000, undefined, { ref: false })])
  await stop(child)
}
