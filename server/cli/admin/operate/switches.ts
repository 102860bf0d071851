import { setTimeout as sleep } from 'node:timers/promises'
import type { Action } from '../../../identity/activity/action.ts'
import { recordActivity } from '../../../identity/activity/activity.ts'
import { findProcesses } from '../../../operations/store-processes.ts'
import {
  deleteSwitch,
  findSwitches,
  INTAKE,
  SWITCH_TOPIC,
  type SwitchRow,
  saveSwitch,
  switchOfEngine,
} from '../../../operations/store-switches.ts'
import type { Db } from '../../../platform/db/db.ts'
import { countRendersOfAll } from '../../../videos/render/store.ts'
import { UsageError } from '../../flags.ts'
import { withChanges } from '../changes.ts'
import { type Admin, CommandError, command, type Report } from '../command.ts'
import { rowsOf } from '../people.ts'

const ENGINE = {
  id: { value: '<name>', help: "As 'kinora admin status' names it: a model, or <model>/<engine>", required: true },
} as const

export const enginePause = command({
  summary: 'start nothing new at an engine; its jobs wait, or go to another engine of their model',
  records: 'engine.pause',
  flags: ENGINE,
  run: (admin, { id }) => pauseEngine(admin, { engine: id, state: 'paused', action: 'engine.pause' }),
})

export const engineDrain = command({
  summary: 'as pause, to stop the engine once its renders have ended; exit code 1 if some still run after --wait',
  records: 'engine.drain',
  flags: { ...ENGINE, wait: { value: '<seconds>', help: 'For the renders that run; 0 by default' } },
  async run(admin, { id, wait }) {
    const until = performance.now() + readSeconds(wait ?? '0') * 1000
    const report = await pauseEngine(admin, { engine: id, state: 'draining', action: 'engine.drain' })
    let running = await countRunning(admin.db, id)
    while (running > 0 && performance.now() < until) {
      await sleep(POLL_MILLISECONDS)
      running = await countRunning(admin.db, id)
    }
    const json = { ...report.json, running }
    return { json, rows: rowsOf(json), exit_code: wait !== undefined && running > 0 ? 1 : 0 }
  },
})

export const engineResume = command({
  summary: 'let jobs start at a paused engine again',
  records: 'engine.resume',
  flags: ENGINE,
  run: (admin, { id }) => resume(admin, { name: switchOfEngine(id), action: 'engine.resume' }),
})

export const intakePause = command({
  summary: 'refuse new video jobs, completions and responses with 503 on every node; what was accepted goes on',
  records: 'intake.pause',
  flags: {},
  run: (admin) => pause(admin, { name: INTAKE, state: 'paused', action: 'intake.pause' }),
})

export const intakeResume = command({
  summary: 'take new work again',
  records: 'intake.resume',
  flags: {},
  run: (admin) => resume(admin, { name: INTAKE, action: 'intake.resume' }),
})

const POLL_MILLISECONDS = 500

async function pauseEngine(
  admin: Admin,
  { engine, ...rest }: { engine: string; state: SwitchRow['state']; action: Action },
): Promise<Report> {
  await requireEngine(admin.db, engine)
  return pause(admin, { name: switchOfEngine(engine), ...rest })
}

async function pause(
  { db, url, clock, actor }: Admin,
  { name, state, action }: Pick<SwitchRow, 'name' | 'state'> & { action: Action },
): Promise<Report> {
  const now = clock.now()
  await withChanges({ db, url }, async (changes) => {
    await db.transaction().execute(async (tx) => {
      await saveSwitch(tx, { name, state, since: now, changed_by: `${actor.os_user}@${actor.host}` })
      await recordActivity(tx, { actor, action, org_id: null, target: name, now })
    })
    changes.announce(SWITCH_TOPIC, nameless(name))
  })
  const { since } = (await findSwitches(db)).find((each) => each.name === name) ?? { since: now }
  const json = { name, state, since: since.toISOString() }
  return { json, rows: rowsOf(json) }
}

async function resume(
  { db, url, clock, actor }: Admin,
  { name, action }: { name: string; action: Action },
): Promise<Report> {
  const now = clock.now()
  const was = await withChanges({ db, url }, async (changes) => {
    const deleted = await db.transaction().execute(async (tx) => {
      if (!(await deleteSwitch(tx, name))) return false
      await recordActivity(tx, { actor, action, org_id: null, target: name, now })
      return true
    })
    changes.announce(SWITCH_TOPIC, nameless(name))
    return deleted
  })
  if (!was) throw new CommandError(`${name} is not paused. 'kinora admin status' shows what is.`)
  const json = { name, state: 'running' }
  return { json, rows: rowsOf(json) }
}

/** Ids in an announcement have no spaces. */
function nameless(name: string): string {
  return name.replaceAll(' ', '_')
}

/** Throws CommandError for a name that no running process knows. */
async function requireEngine(db: Db, engine: string): Promise<void> {
  const engines = (await findProcesses(db)).flatMap(({ state }) => state.engines ?? [])
  const known = new Set(engines.flatMap(({ name, model }) => (model === '' ? [] : [name, model])))
  if (known.size === 0) throw new CommandError('No service runs on this database, so no engine is known.')
  if (known.has(engine)) return
  throw new CommandError(`There is no engine ${engine}. There are ${[...known].sort().join(', ')}.`)
}

async function countRunning(db: Db, engine: string): Promise<number> {
  const found = await countRendersOfAll(db)
  const own = found.filter(({ model, engine: name }) => model === engine || `${model}/${name}` === engine)
  return own.reduce((sum, { count }) => sum + count, 0)
}

function readSeconds(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text)
  throw new UsageError('--wait is not a whole number of seconds')
}
