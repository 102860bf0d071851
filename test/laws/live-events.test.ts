import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { VIDEO_TOPIC } from '../../server/videos/queues.ts'
import { newColleague, newCustomer, startApp } from '../support/http/app.ts'
import { insertLongJobs } from '../support/http/videos-app.ts'
import { effortOf } from '../support/processor-time.ts'

const PEOPLE = 100
const STREAMS_EACH = 8
/** So few that no stream has to wait for its client, whose events would be replaced. */
const JOBS = 2
const JOBS_BYTES = JOBS * 28_000

if (isMainThread) {
  test('no turn takes 30 ms of processor time to send two long jobs to 800 streams', async () => {
    const app = await startApp()
    const owner = await newCustomer(app)
    const jobs = await insertLongJobs(app.database, owner, JOBS)
    const cookies: string[] = []
    for (let i = 0; i < PEOPLE; i++) {
      const { cookie } = await newColleague(app, owner.org_id, { agreed: false })
      cookies.push(...Array<string>(STREAMS_EACH).fill(cookie))
    }
    const clients = new Worker(new URL(import.meta.url))
    const say = (message: unknown) =>
      new Promise((resolve) => {
        clients.once('message', resolve)
        clients.postMessage(message)
      })
    await say({ url: app.url, cookies })
    const round = async () => {
      const received = say('receive')
      for (const id of jobs) app.ctx.changes.announce(VIDEO_TOPIC, id)
      await received
    }
    await round()
    const { milliseconds } = await effortOf(round, { milliseconds: 30 })
    assert.ok(milliseconds < 30, `${milliseconds} ms`)
    await clients.terminate()
    await app.close()
  })
} else readStreams()

/** Opens streams and says when all have begun; then, each time it is asked, when all have received the jobs once more. */
function readStreams(): void {
  const received: number[] = []
  let waiting = 0
  let wanted = 1
  parentPort!.on('message', (message: 'receive' | { url: string; cookies: readonly string[] }) => {
    if (message !== 'receive') return open(message.url, message.cookies)
    received.fill(0)
    waiting = received.length
    wanted = JOBS_BYTES
  })
  const open = (url: string, cookies: readonly string[]) => {
    const { hostname, port } = new URL(url)
    waiting = cookies.length
    for (const [index, cookie] of cookies.entries()) {
      received.push(0)
      const socket = connect(Number(port), hostname)
      socket.write(`GET /console/events HTTP/1.1\r\nhost: kinora\r\ncookie: ${cookie}\r\n\r\n`)
      socket.on('data', ({ length }) => {
        const before = received[index]!
        received[index] = before + length
        if (before < wanted && before + length >= wanted && --waiting === 0) parentPort!.postMessage('done')
      })
    }
  }
}
