import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalOfNode } from './fit.ts'
import type { NodeRow } from './store.ts'

type Given = { secret?: string; previous?: string[]; public_url?: string | null }

function node({ secret = 'old', previous = [], public_url = 'https://kinora.example.com' }: Given = {}) {
  return { secret, accepted_secrets: [secret, ...previous], public_url }
}

/** Why a node may not start beside others; the database was last used with `in_use`. */
function refused(start: Given, { in_use = 'old', others = [] }: { in_use?: string | null; others?: Given[] } = {}) {
  const rows = others.map((each, i) => ({
    id: `node_${i}`,
    host_name: `host-${i}`,
    data_dir: `/data/${i}`,
    ...node(each),
  })) as NodeRow[]
  return refusalOfNode(node(start), { in_use, others: rows })
}

test('a node starts with the secret the database was used with, or with a new one that accepts it', () => {
  assert.equal(refused({}), null)
  assert.equal(refused({}, { in_use: null }), null)
  assert.equal(refused({ secret: 'new', previous: ['old'] }), null)
  assert.match(refused({ secret: 'new' })!, /KINORA_SECRET_PREVIOUS.*kinora admin secret forget/)
})

test('a secret is rotated node by node in three rounds without a refusal', () => {
  const rounds: Given[] = [{}, { previous: ['new'] }, { secret: 'new', previous: ['old'] }, { secret: 'new' }]
  const nodes = [rounds[0]!, rounds[0]!, rounds[0]!]
  let in_use = 'old'
  for (const round of rounds.slice(1)) {
    for (const i of nodes.keys()) {
      const others = nodes.filter((_, other) => other !== i)
      assert.equal(refused(round, { in_use, others }), null, JSON.stringify({ round, others }))
      nodes[i] = round
      in_use = round.secret ?? 'old'
    }
  }
})

test('a new secret that a running node does not accept yet is refused with the order of a rotation', () => {
  const message = refused({ secret: 'new', previous: ['old'] }, { others: [{}] })
  assert.match(
    message!,
    /Node node_0 on host-0 \(\/data\/0\) does not accept.*first add the new secret to KINORA_SECRET_PREVIOUS/,
  )
  const forgotten = refused({ secret: 'new' }, { in_use: null, others: [{}] })
  assert.match(forgotten!, /Node node_0 on host-0 \(\/data\/0\) has another secret\. The database has been used with/)
})

test('several nodes need public_url, each of them', () => {
  assert.equal(refused({ public_url: null }), null)
  assert.match(refused({ public_url: null }, { others: [{}] })!, /Node node_0 on host-0.*Set public_url/)
  assert.match(
    refused({}, { others: [{ public_url: null }] })!,
    /Node node_0 on host-0 \(\/data\/0\) runs without public_url/,
  )
  assert.equal(refused({}, { others: [{}, {}] }), null)
})
