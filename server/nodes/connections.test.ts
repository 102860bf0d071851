import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareConnections, connectionsOf } from './connections.ts'

const LIMITS = { max: 100, reserved: 3 }

test('connections are summed over the processes of a node and over the nodes, and compared with what PostgreSQL allows', () => {
  assert.equal(connectionsOf({ workers: 1, pool: 10 }), 12)
  assert.equal(connectionsOf({ workers: 4, pool: 10 }), 56)
  const outcome = (workers: number, others: number[]) =>
    compareConnections({ workers, pool: 10 }, LIMITS, others).outcome
  assert.equal(outcome(1, Array(7).fill(12)), 'enough')
  assert.equal(outcome(1, Array(8).fill(12)), 'scarce')
  assert.equal(outcome(8, []), 'scarce')
  assert.equal(compareConnections({ workers: 8, pool: 10 }, { max: 25, reserved: 3 }, []).outcome, 'impossible')
  const { detail } = compareConnections({ workers: 1, pool: 10 }, LIMITS, [12, 80])
  assert.match(detail, /at most 12 .*2 other nodes open at most 92; PostgreSQL allows 97 .*Lower database\.pool/)
})
