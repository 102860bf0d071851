import { AsyncLocalStorage } from 'node:async_hooks'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { StartError } from '../../server/platform/start-error.ts'
import { SERVER_MAIN } from '../runner/server-bundle.ts'
import { ROOT } from './sources.ts'

/** The executable, as npm links it. */
export const KINORA = join(ROOT, 'bin', 'kinora.js')

export type Ran = { code: number | null; stdout: string; stderr: string }

/** Runs `kinora` to its end with nothing of our environment but PATH, and `env`. */
export async function runKinora(args: string[], options: { env?: NodeJS.ProcessEnv; cwd?: string } = {}): Promise<Ran> {
  return ended(startKinora(args, options))
}

type Run = (args: string[], env: NodeJS.ProcessEnv) => Promise<number>

/** The subcommands of `server/main.ts` that end by themselves. */
const COMMANDS: Readonly<Record<string, () => Promise<Run>>> = {
  serve: async () => (await import('../../server/cli/serve.ts')).runServe,
  migrate: async () => (await import('../../server/cli/migrate.ts')).runMigrate,
  render: async () => (await import('../../server/cli/render.ts')).runRender,
  check: async () => (await import('../../server/cli/check/check.ts')).runServiceCheck,
  demo: async () => (await import('../../server/cli/demo/demo.ts')).runDemo,
  engines: async () => (await import('../../server/cli/engines/engines.ts')).runEngines,
  admin: async () => (await import('../../server/cli/admin/admin.ts')).runAdmin,
}

/**
 * Runs a subcommand as `runKinora` does, but in this process, which saves the start of one: for what a command prints and changes. Paths are
 * relative to the working directory of this process.
 */
export async function runCommand([name = '', ...args]: string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  captureOutput()
  const run = await COMMANDS[name]!()
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const printed = Promise.all([textOf(stdout), textOf(stderr)])
  const code = await output.run({ stdout, stderr }, () =>
    run(args, env).catch((error: unknown) => {
      if (!(error instanceof StartError)) throw error
      stderr.write(`kinora: ${error.message}\n`)
      return 1
    }),
  )
  stdout.end()
  stderr.end()
  const [out, err] = await printed
  return { code, stdout: out, stderr: err }
}

/** Where the command that is running in this asynchronous context prints. */
const output = new AsyncLocalStorage<{ stdout: PassThrough; stderr: PassThrough }>()
let isCapturing = false

/** From now on, commands that `runCommand` runs do not print to the terminal. Everything else does. */
function captureOutput(): void {
  if (isCapturing) return
  isCapturing = true
  for (const name of ['stdout', 'stderr'] as const) {
    const real = process[name]
    Object.defineProperty(process, name, { configurable: true, get: () => output.getStore()?.[name] ?? real })
  }
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
