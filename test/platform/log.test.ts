import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { tempDir } from '../support/service.ts'
import { ROOT } from '../support/sources.ts'

/** Starts a process that runs `script`, which has a `log` on its standard error. */
function startLogging(stderr: number, script: string): ChildProcess {
  const log = `import { openLog } from '${join(ROOT, 'server/platform/log.ts')}'\nconst log = openLog('info')\n`
  const args = ['--input-type=module', '--eval', log + script]
  return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', stderr, 'ipc'] })
}

/** A pipe of the file system: both of its ends. */
function openPipe(t: TestContext): { reader: Socket; write_fd: number } {
  const dir = tempDir()
  t.after(() => dir.remove())
  const path = join(dir.path, 'log')
  assert.equal(spawnSync('mkfifo', [path]).status, 0)
  const read_fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const write_fd = openSync(path, constants.O_WRONLY)
  return { reader: new Socket({ fd: read_fd, writable: false }), write_fd }
}

type Line = { event: string; process?: string; count: number; detail?: string }

function parsed(output: string): Line[] {
  return output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const DETAIL = 'x'.repeat(200)
const LINES = 40_000

test('a reader that takes nothing does not block the process; lines beyond the buffer are dropped and counted', async (t) => {
  const { reader, write_fd } = openPipe(t)
  const child = startLogging(
    write_fd,
    `for (let count = 0; count < ${LINES}; count++) log.info('written', { count, detail: '${DETAIL}' })
     process.on('message', () => { log.info('after', { count: 0 }); process.disconnect() })
     process.send('written')`,
  )
  closeSync(write_fd)
  const exited = once(child, 'exit')
  assert.deepEqual((await once(child, 'message'))[0], 'written')
  let output = ''
  let is_asked = false
  for await (const chunk of reader) {
    output += chunk
    if (is_asked || !output.includes('log_lines_dropped')) continue
    is_asked = true
    child.send('end')
  }
  assert.deepEqual(await exited, [0, null])
  const lines = parsed(output)
  const written = lines.filter(({ event }) => event === 'written')
  assert.deepEqual(
    written.map(({ count }) => count),
    [...written.keys()],
  )
  const bytes = output.indexOf('\n') * written.length
  assert.ok(bytes < 5 * 1024 * 1024, `${bytes} bytes were kept`)
  assert.deepEqual(
    lines.slice(written.length).map(({ event, count }) => [event, count]),
    [
      ['log_lines_dropped', LINES - written.length],
      ['after', 0],
    ],
  )
})

test('a process whose reader takes nothing can end', async (t) => {
  const { reader, write_fd } = openPipe(t)
  const child = startLogging(write_fd, `for (let count = 0; count < ${LINES}; count++) log.info('written', { count })`)
  closeSync(write_fd)
  assert.deepEqual(await once(child, 'exit'), [0, null])
  reader.destroy()
})

test('a reader that is gone ends nothing', async (t) => {
  const { reader, write_fd } = openPipe(t)
  const child = startLogging(
    write_fd,
    `process.once('message', () => {
       for (let count = 0; count < ${LINES}; count++) log.error('written', { count })
       process.send('alive', () => process.disconnect())
     })
     process.send('opened')`,
  )
  closeSync(write_fd)
  const exited = once(child, 'exit')
  await once(child, 'message')
  reader.destroy()
  await once(reader, 'close')
  child.send('write')
  assert.deepEqual((await once(child, 'message'))[0], 'alive')
  assert.deepEqual(await exited, [0, null])
})

const ENDS = {
  'process.exit': 'process.exit(3)',
  'an exception that nothing catches': "throw new Error('thrown')",
  'nothing more to do': 'process.exitCode = 3',
}
for (const [name, script] of Object.entries(ENDS)) {
  test(`the last lines are written when a process ends by ${name}`, async (t) => {
    const dir = tempDir()
    t.after(() => dir.remove())
    const path = join(dir.path, 'log')
    const fd = openSync(path, 'a')
    const child = startLogging(fd, `for (let count = 0; count < 50; count++) log.info('written', { count })\n${script}`)
    closeSync(fd)
    const [code] = await once(child, 'exit')
    assert.notEqual(code, 0)
    const output = readFileSync(path, 'utf8')
    assert.equal(output.match(/"event":"written"/g)?.length, 50)
    if (name.includes('exception')) assert.match(output, /Error: thrown/)
  })
}

test('an error is written at once, with the lines before it', async () => {
  const child = startLogging(
    'pipe' as never,
    `log.info('before')
     log.error('failed')
     Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`,
  )
  let output = ''
  for await (const chunk of child.stderr!) {
    output += chunk
    if (output.includes('failed')) child.kill('SIGKILL')
  }
  assert.deepEqual(
    parsed(output).map(({ event }) => event),
    ['before', 'failed'],
  )
})

test('processes that write to one pipe do not mix their lines', async (t) => {
  const { reader, write_fd } = openPipe(t)
  const script = (process: number) =>
    `for (let count = 0; count < 5000; count++) log.info('written', { count, detail: '${process}'.repeat(count % 300) })
     process.once('message', () => process.disconnect())`
  const children = [1, 2, 3].map((process) => startLogging(write_fd, script(process)))
  closeSync(write_fd)
  let output = ''
  let count = 0
  for await (const chunk of reader.setEncoding('utf8')) {
    output += chunk
    count += chunk.split('\n').length - 1
    if (count === 15_000) for (const child of children) if (child.connected) child.send('end')
  }
  assert.equal(parsed(output).length, 15_000)
})

test('the lines of an error with many causes are short enough for one write', async () => {
  const child = startLogging(
    'pipe' as never,
    `const nested = (depth) => new Error('m'.repeat(1000), depth > 0 ? { cause: nested(depth - 1) } : {})
     log.error('failed', { detail: 'd'.repeat(1000), error: nested(10) })`,
  )
  const output = await text(child.stderr!)
  assert.ok(output.length <= 4096, `${output.length} bytes`)
  assert.equal(parsed(output)[0]!.event, 'failed')
})
