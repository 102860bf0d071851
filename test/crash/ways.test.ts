import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Installation, openInstallation, removeFiles } from '../../bench/nodes/installation.ts'
import { describeOutcome } from '../../bench/nodes/report.ts'
import { tryWay } from '../../bench/nodes/try-way.ts'
import { WAYS } from '../../bench/nodes/ways/all.ts'

let installation: Installation
before(async () => {
  installation = await openInstallation()
})
after(async () => {
  await installation.close()
  removeFiles(installation)
})

for (const way of WAYS.filter(({ seconds }) => seconds.short !== null)) {
  test(`two nodes under load lose nothing, go on where they can, and recover: ${way.what}`, async () => {
    const outcome = await tryWay(installation, way, { each: 1, short: true, has_status: false, alerts: false })
    assert.deepEqual(outcome.broken, [], describeOutcome(outcome))
  })
}
