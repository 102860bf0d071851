import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { describe } from './light-context.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { leftOpen, openHandles } from './open-handles.ts'
import { fileEnded } from './reporter.ts'

/**
 * Runs test files one after another in this process, as `runner.ts` asks: reading the service costs more than running most files. Each file
 * is a suite, so its hooks are its own. Between files the environment is restored, and a file that leaves a server or a process behind fails.
 */
let busy = false
process.on('message', (message: ToWorker) => {
  if ('end' in message) return process.disconnect()
  void runFile(message.run)
})
// The runner has ended: nobody waits for the file any more.
process.once('disconnect', () => {
  if (busy) process.exit(1)
})
report({ ready: true })

async function runFile(path: string): Promise<void> {
  busy = true
  const env = { ...process.env }
  const handles = openHandles()
  const cpu_before = processorMs()
  const began = performance.now()
  const ended = fileEnded(path)
  describe(path, async () => {
    await import(pathToFileURL(path).href)
  })
  await ended
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  const left_open = await leftOpen(handles)
  busy = false
  report({ file: { path, ms: performance.now() - began, cpu_ms: processorMs() - cpu_before, left_open } })
}

/** Processor time of this process, on Linux also of the child processes that have ended. PostgreSQL and the browser are not in it. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  if (process.platform !== 'linux') return (user + system) / 1000
  // proc(5): fields 16 and 17, in ticks of 10 ms, counted after the name of the program, which may have spaces.
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (user + system) / 1000 + (Number(fields[13]) + Number(fields[14])) * 10
}

function report(message: FromWorker): void {
  process.send!(message)
}
