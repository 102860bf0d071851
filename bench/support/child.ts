import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { pinned, type Side } from './cores.ts'

/** Starts Node with these arguments, on the cores of `side`, or on all where it is null. `stderr`: where its errors go, if not to ours. */
export function spawnNode(
  args: readonly string[],
  side: Side | null,
  { stderr, ...options }: { env?: NodeJS.ProcessEnv; cwd?: string; stderr?: number } = {},
): ChildProcess {
  const [command, all] = side ? pinned(side, process.execPath, args) : [process.execPath, [...args]]
  return spawn(command, all, { ...options, stdio: ['ignore', 'pipe', stderr ?? 'inherit'] })
}

/** The first line that it prints, by which a server says that it listens. */
export async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = await Promise.race([
    once(child.stdout!, 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`ended with ${code} before it was ready`))),
  ])
  return String(line).trim()
}

/** Everything that it prints until it ends. Throws when it ends with an error. */
export async function outputOf(child: ChildProcess): Promise<string> {
  let output = ''
  child.stdout!.on('data', (piece) => {
    output += piece
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${child.spawnargs.slice(0, 6).join(' ')} ended with ${code}`)
  return output
}

/** Ends it at once; resolves when it is gone. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
