import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { withoutPrometheus } from './alerts.ts'
import { openInstallation, removeFiles } from './installation.ts'
import { describeOutcome, headOf, rowOf } from './report.ts'
import { withoutSmallDisk } from './small-disk.ts'
import { tryWay } from './try-way.ts'
import { WAYS } from './ways/all.ts'

/**
 * Breaks an installation of two nodes under load, in one way after the other: `node bench/nodes/run.ts [--ways kill,engine-away] [--short] [--each 3] [--alerts]`.
 * Prints what clients, monitors and operators saw and a table of it all; exits with 1 when anything was lost, charged twice, never
 * delivered or invented, or did not happen as documented. `--each`: clients of each kind. `--alerts`: with the `prometheus` of the path beside it.
 */
const { values } = parseArgs({
  options: {
    ways: { type: 'string' },
    short: { type: 'boolean', default: false },
    each: { type: 'string', default: '3' },
    alerts: { type: 'boolean', default: false },
  },
})
const { short, alerts } = values
if (alerts && withoutPrometheus() !== null) throw new Error(withoutPrometheus()!)
const named = values.ways?.split(',')
const unknown = named?.filter((name) => !WAYS.some((way) => way.name === name)) ?? []
if (unknown.length > 0) throw new Error(`No such way: ${unknown}. There are ${WAYS.map(({ name }) => name).join(', ')}`)
const chosen = named?.map((name) => WAYS.find((way) => way.name === name)!) ?? WAYS
const ways = chosen.filter(({ seconds }) => !short || seconds.short !== null)

const rows: string[] = []
let count = 0
const small_disks = withoutSmallDisk() === null && ways.some(({ missing }) => missing)
const installation = await openInstallation({ small_disks })
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void installation.close().then(() => process.exit(130)))
try {
  const has_status = !short && /^ *status\b/m.test((await installation.admin('--help')).stdout)
  for (const way of ways) {
    const reason = way.missing?.() ?? null
    if (reason !== null) {
      console.log(`## ${way.name}: skipped: ${reason}\n`)
      continue
    }
    const outcome = await tryWay(installation, way, { each: Number(values.each), short, has_status, alerts })
    console.log(describeOutcome(outcome))
    rows.push(rowOf(outcome))
    count += outcome.broken.length
  }
} finally {
  await installation.close()
}
console.log(`${headOf({ alerts })}\n${rows.join('\n')}\n`)
console.log(
  `${new Date().toISOString()}, load average ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')}`,
)
console.log(count === 0 ? 'Nothing was lost.' : `${count} broken promises; logs: ${installation.dir}`)
if (count === 0) removeFiles(installation)
process.exitCode = count === 0 ? 0 : 1
