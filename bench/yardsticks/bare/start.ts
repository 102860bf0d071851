import { join } from 'node:path'
import { firstLine, spawnNode, stop } from '../../support/child.ts'

export type BareServer = { url: string; pid: number; stop(): Promise<void> }

/** A bare proxy on Node in front of a model server. */
export function startBareProxy(upstream: { url: string }, mode: 'forward' | 'parse'): Promise<BareServer> {
  return start('proxy.ts', [new URL(upstream.url).origin, mode])
}

/** A bare server that always sends the same answer, on `node:http` alone or on Fastify. */
export function startBareServer(kind: 'server' | 'fastify'): Promise<BareServer> {
  return start(`${kind}.ts`, [])
}

async function start(script: string, args: string[]): Promise<BareServer> {
  const child = spawnNode([join(import.meta.dirname, script), ...args], 'subject')
  const port = await firstLine(child)
  return { url: `http://127.0.0.1:${port}`, pid: child.pid!, stop: () => stop(child) }
}
