import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { SERVER_MAIN } from '../runner/server-bundle.ts'
import { ROOT } from './sources.ts'

/** The executable, as npm links it. */
export const KINORA = join(ROOT, 'bin', 'kinora.js')

export type Ran = { code: number | null; stdout: string; stderr: string }

/** Runs `kinora` to its end with nothing of our environment but PATH, and `env`. */
export async function runKinora(args: string[], options: { env?: NodeJS.ProcessEnv; cwd?: string } = {}): Promise<Ran> {
  return ended(startKinora(args, options))
}

export function startKinora(args: string[], options: { env?: NodeJS.ProcessEnv; cwd?: string } = {}): ChildProcess {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, ...options.env }
  return spawn(process.execPath, [SERVER_MAIN, ...args], { env, cwd: options.cwd, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** What a process printed, once it has ended. */
export async function ended(child: ChildProcess): Promise<Ran> {
  const out = { stdout: '', stderr: '' }
  child.stdout!.on('data', (chunk) => (out.stdout += chunk))
  child.stderr!.on('data', (chunk) => (out.stderr += chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...out }
}

/** Resolves with the first match in what a process prints to `stream`. Rejects when it ends before. */
export async function printed(
  child: ChildProcess,
  stream: 'stdout' | 'stderr',
  pattern: RegExp,
): Promise<RegExpExecArray> {
  let text = ''
  return new Promise((resolve, reject) => {
    child[stream]!.on('data', (chunk) => {
      text += chunk
      const match = pattern.exec(text)
      if (match) resolve(match)
    })
    child.once('close', (code) => reject(new Error(`ended with ${code} before it printed ${pattern}:\n${text}`)))
  })
}
