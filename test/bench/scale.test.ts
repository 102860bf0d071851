import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tables } from '../../bench/scale/paper.ts'
import { processTable } from '../../bench/scale/processes.ts'
import { fewestMachines } from '../../bench/scale/simulate.ts'
import { ROOT } from '../support/sources.ts'

test('the tables of docs/scale.md are what the results and the simulation say', () => {
  const page = readFileSync(join(ROOT, 'docs', 'scale.md'), 'utf8')
  const printed = (name: string) => new RegExp(`<!-- ${name} -->\n([\\s\\S]*?)\n<!-- /${name} -->`).exec(page)?.[1]
  assert.equal(printed('paper'), tables())
  assert.equal(printed('processes'), processTable())
})

test('more work, or larger pieces of it, never need fewer machines', () => {
  const machinesFor = (mean_cores: number, piece_seconds: number) =>
    fewestMachines({ name: 'api', mean_cores, piece_seconds }, { cores: 4, peak: 2, seed: 'law' }).machines
  assert.equal(machinesFor(0.1, 0.001), 2, 'one may be missing')
  assert.ok(machinesFor(10, 0.001) >= Math.ceil((10 * 2) / 4), 'the high of the day is served')
  assert.ok(machinesFor(10, 5) > machinesFor(10, 0.001), 'work in large pieces comes in bursts')
})
