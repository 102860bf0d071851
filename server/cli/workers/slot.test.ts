import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { endProcess, openSlot, pauseAfter, type SlotOptions } from './slot.ts'

/** What a process does. */
const SERVES = "process.send('ready'); setInterval(() => {}, 1000)"
const ENDS = ''
const MISSING = 'cannot be started'
const HANGS = 'setInterval(() => {}, 1000)'
const IGNORES = "process.on('SIGTERM', () => process.send('asked')); process.send('ready'); setInterval(() => {}, 1000)"

const children: ChildProcess[] = []
after(() => children.forEach((child) => void child.kill('SIGKILL')))

function start(script: string): ChildProcess {
  const program = script === MISSING ? '/no/such/program' : process.execPath
  const child = spawn(program, ['-e', script], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  children.push(child)
  return child
}

/** A slot whose processes run the scripts, one after the other, and what has become of them. */
function slotOf(scripts: string[]) {
  const seen: string[] = []
  const restored = Promise.withResolvers<void>()
  const stopping = new AbortController()
  const options: SlotOptions<string> = {
    fork: () => start(scripts.shift()!),
    readReady(message) {
      if (scripts.length === 0) restored.resolve()
      return message as string
    },
    on_died: () => seen.push('died'),
    on_failed: (error) => seen.push((error as Error).message),
    on_restart: () => seen.push('restart'),
    signal: stopping.signal,
    pause: async (seconds) => void seen.push(`${seconds} s`),
  }
  return { options, seen, restored: restored.promise, stopping }
}

test('a process that dies is replaced until one starts, after a pause that grows; one that hangs is killed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { options, seen, restored, stopping } = slotOf([SERVES, ENDS, HANGS, MISSING, SERVES])
  const { fork } = options
  options.fork = () => {
    const child = fork()
    if (child.spawnargs.includes(HANGS)) setImmediate(() => t.mock.timers.tick(30_000))
    return child
  }
  assert.equal(await openSlot(options), 'ready')
  children.at(-1)!.kill('SIGKILL')
  await restored
  stopping.abort()
  assert.deepEqual(seen, [
    ...['died', '0 s', 'restart', 'an HTTP process ended while it started'],
    ...['1 s', 'restart', 'an HTTP process did not start in time'],
    ...['2 s', 'restart', 'spawn /no/such/program ENOENT'],
    ...['4 s', 'restart'],
  ])
  assert.equal(children.at(-3)!.signalCode, 'SIGKILL')
})

test('the first process is not replaced: where it does not start, the slot does not open', async () => {
  const { options, seen } = slotOf([ENDS])
  await assert.rejects(openSlot(options), /ended while it started/)
  assert.deepEqual(seen, [])
})

test('the pause doubles up to half a minute', () => {
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6, 60].map(pauseAfter), [0, 1, 2, 4, 8, 16, 30, 30])
})

test('a process that is asked to end and does not is killed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const [sound, stuck] = [start(SERVES), start(IGNORES)]
  await Promise.all([sound, stuck].map((child) => once(child, 'message')))
  assert.equal(await endProcess(sound, { seconds: 70 }), 'ended')
  const asked = once(stuck, 'message')
  const end = endProcess(stuck, { seconds: 70 })
  await asked
  assert.equal(stuck.signalCode, null)
  t.mock.timers.tick(70_000)
  assert.equal(await end, 'killed')
  assert.deepEqual([sound.signalCode, stuck.signalCode], ['SIGTERM', 'SIGKILL'])
})
