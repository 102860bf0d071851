import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnNode, stop } from '../support/child.ts'

const PACKAGE = '@portkey-ai/gateway@1.15.2'
/** In place of its figure. */
export const NO_PORTKEY = `${PACKAGE} could not be installed`

export type Portkey = { url: string; pid: number; headers: Record<string, string>; stop(): Promise<void> }

/** Portkey's gateway in front of `upstream`, installed for this run into a place of its own. Null when npm cannot get it. */
export async function startPortkey(upstream: { url: string }): Promise<Portkey | null> {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-bench-portkey-'))
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', dir, PACKAGE]
  const clean = () => rmSync(dir, { recursive: true, force: true })
  if (spawnSync('npm', args, { stdio: 'ignore', cwd: dir }).status !== 0) {
    clean()
    return null
  }
  const port = await freePort()
  const script = join(dir, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js')
  const env = { ...process.env, NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' }
  const child = spawnNode([script, `--port=${port}`, '--headless'], 'subject', { env })
  child.stdout!.resume()
  const url = `http://127.0.0.1:${port}`
  await answering(url)
  return {
    url: `${url}/v1`,
    pid: child.pid!,
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstream.url },
    async stop() {
      await stop(child)
      clean()
    },
  }
}

async function answering(url: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    try {
      await (await fetch(url)).text()
      return
    } catch {
      await sleep(50)
    }
  }
  throw new Error('the gateway did not start')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
