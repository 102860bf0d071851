import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { samplePdf } from '../../../test/support/data/pdf.ts'
import { ChildrenBusy } from '../children/concurrency-limit.ts'
import { lockedFlags, renderPdf } from './render.ts'

test('the child that draws pages can read code, but no other file, write nothing and start nothing', () => {
  const attempts = {
    read: "require('fs').readFileSync('/etc/hosts')",
    list: "require('fs').readdirSync(require('os').homedir())",
    write: "require('fs').writeFileSync('kinora-pdf-test', '')",
    spawn: "require('child_process').execFileSync('true')",
  }
  for (const [name, code] of Object.entries(attempts)) {
    const { status, stderr } = spawnSync(process.execPath, [...lockedFlags(), '-e', code], { encoding: 'utf8' })
    assert.notEqual(status, 0, name)
    assert.match(stderr, /ERR_ACCESS_DENIED/, name)
  }
  const own = `require('fs').readFileSync(${JSON.stringify(import.meta.filename)})`
  assert.equal(spawnSync(process.execPath, [...lockedFlags(), '-e', own]).status, 0)
})

test('documents wait for their turn, too many are refused, and whoever leaves gives the place up', async () => {
  const left = new AbortController()
  const pdf = samplePdf()
  let busy = 0
  const many = Array.from({ length: 200 }, () =>
    renderPdf(pdf, { signal: left.signal }).then(
      () => 'drawn',
      (error: unknown) => {
        if (error instanceof ChildrenBusy) busy++
        return error
      },
    ),
  )
  // The refusals are already there; everything else needs a child.
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(busy >= 133 && busy < 136, `64 wait, 1 to 3 are drawn, the rest is refused: ${busy}`)
  left.abort(new Error('left'))
  const outcomes = await Promise.all(many)
  assert.equal(outcomes.filter((outcome) => (outcome as Error).message === 'left').length, 200 - busy)
  const fresh = await Promise.all([renderPdf(pdf), renderPdf(pdf), renderPdf(samplePdf(2))])
  assert.deepEqual(
    fresh.map((pages) => pages.length),
    [1, 1, 2],
  )
})
