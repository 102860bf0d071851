import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { ended, KINORA } from '../support/command.ts'

const older = olderNode()

test('the command runs on an older Node by way of the installed one, and passes exit codes and signals on', {
  skip: older ? false : 'no older Node here: have Node 20 or 22 in PATH',
}, async () => {
  const help = await ended(spawn(older!, [KINORA, 'help']))
  assert.deepEqual([help.code, /^kinora <command>/.test(help.stdout)], [0, true])
  assert.equal((await ended(spawn(older!, [KINORA, 'nonsense']))).code, 2)
})

test('an unknown command exits with 2 and the list of commands', async () => {
  const { code, stderr } = await ended(spawn(process.execPath, [KINORA, 'fly']))
  assert.equal(code, 2)
  assert.match(stderr, /unknown command fly\n\nkinora <command>/)
})

function olderNode(): string | null {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'node')
    if (folder.includes('node_modules') || !existsSync(path)) continue
    if (Number(/^v(\d+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[1]) < 24) return path
  }
  return null
}
