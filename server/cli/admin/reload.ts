import { setTimeout as sleep } from 'node:timers/promises'
import { recordActivity } from '../../identity/activity/activity.ts'
import { findNodes } from '../../nodes/store.ts'
import { newId } from '../../platform/ids.ts'
import { RELOAD_TOPIC } from '../../reload/node.ts'
import { countListeners, findAnswers, insertReload } from '../../reload/store.ts'
import { UsageError } from '../flags.ts'
import { withChanges } from './changes.ts'
import { CommandError, command } from './command.ts'

/** How long the command waits for the answer of every process. */
const WAIT_SECONDS = 30
const POLL_MILLISECONDS = 100

export const reload = command({
  records: 'configuration.reload',
  summary: 'have every node read its configuration again; exit code 1 unless every process took it up',
  flags: { wait: { value: '<seconds>', help: `For answers; ${WAIT_SECONDS} by default` } },
  async run({ db, clock, url, actor }, given) {
    const wait = readSeconds(given.wait ?? String(WAIT_SECONDS))
    if ((await countListeners(db)) === 0) {
      throw new CommandError('No service runs on this database. What starts next reads its configuration anyway.')
    }
    const id = newId('reload', clock.now())
    const now = clock.now()
    await withChanges({ db, url }, async (changes) => {
      await db.transaction().execute(async (tx) => {
        await insertReload(tx, { id, requested_at: now, requested_by: `${actor.os_user}@${actor.host}` })
        await recordActivity(tx, { actor, action: 'configuration.reload', org_id: null, target: id, now })
      })
      changes.announce(RELOAD_TOPIC, id)
    })
    const until = performance.now() + wait * 1000
    let [answers, expected] = await Promise.all([findAnswers(db, id), countListeners(db)])
    while (answers.length < expected && performance.now() < until) {
      await sleep(POLL_MILLISECONDS)
      ;[answers, expected] = await Promise.all([findAnswers(db, id), countListeners(db)])
    }
    const missing = Math.max(0, expected - answers.length)
    const places = new Map((await findNodes(db)).map(({ id, data_dir }) => [id, data_dir]))
    const processes = answers.map((answer) => ({ ...answer, data_dir: places.get(answer.node_id) ?? null }))
    const rows = processes.map(({ host, data_dir, pid, result, details }) => {
      return [host, data_dir ?? '-', String(pid), result, details.join(' ')]
    })
    if (missing > 0)
      rows.push(['', '', '', 'no answer', `from ${missing} process${missing === 1 ? '' : 'es'} within ${wait} seconds`])
    const exit_code = missing > 0 || answers.some(({ result }) => result === 'refused') ? 1 : 0
    return { json: { id, processes, missing }, rows, exit_code }
  },
})

function readSeconds(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  throw new UsageError('--wait is not a whole number of seconds from 1 to 999')
}
