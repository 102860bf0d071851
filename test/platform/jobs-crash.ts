/** A worker to be killed: claims one wake-up of `videos`, says so, and never ends. `node jobs-crash.ts <url>` */
import { openDb } from '../../server/platform/db.ts'
import { openWakes } from '../../server/platform/jobs.ts'

const url = process.argv[2]!
const { db } = openDb(url)
const wakes = openWakes({ url, db, queues: ['videos', 'webhooks'], role: 'work' })
await wakes.start()
await wakes.work(
  'videos',
  (id) => {
    console.log(id)
    return new Promise(() => {})
  },
  { concurrency: 1 },
)
