import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { silentLog } from '../../../server/platform/log.ts'
import { openMembers, processReader, toText } from '../../../server/platform/metrics/exposition.ts'
import { listenForScrapes } from '../../../server/platform/metrics/listen.ts'
import { openMetrics } from '../../../server/platform/metrics/metrics.ts'
import { refreshGauges } from '../../../server/platform/metrics/refresh.ts'
import { streakGauge } from '../../../server/platform/metrics/streaks.ts'
import { StartError } from '../../../server/platform/start-error.ts'
import { readExposition, sumOf } from '../../support/data/exposition.ts'

/** A process that has counted `count` and reports `level`. */
async function readingOf(count: number, level: number) {
  const metrics = openMetrics()
  metrics
    .counter({ name: 'answers_total', help: 'Answers.', labels: ['route'] })
    .of('/"a"\\')
    .add(count)
  metrics.gauge({ name: 'level', help: 'A level.', merge: 'sum' }).of().set(level)
  const times = metrics.histogram({ name: 'seconds', help: 'Times.', buckets: [1, 2] }).of()
  for (let i = 0; i < count; i++) times.observe(1.5)
  return metrics.read()
}

test('buckets are cumulative, and a value at a bound belongs to it', async () => {
  const metrics = openMetrics()
  const times = metrics.histogram({ name: 'seconds', help: 'Times.', buckets: [1, 2] }).of()
  for (const each of [0, 1, 1.5, 2, 3]) times.observe(each)
  const read = readExposition(await toText([await metrics.read()]))
  const counts = ['1', '2', '+Inf'].map((le) => sumOf(read, 'seconds_bucket', { le }))
  assert.deepEqual(counts, [2, 4, 5])
  assert.equal(sumOf(read, 'seconds_sum'), 7.5)
  assert.equal(sumOf(read, 'seconds_count'), 5)
})

test('the sum of several processes never falls when one dies or does not answer; its gauges are left out', async () => {
  const members = openMembers()
  members.read(1, await readingOf(3, 10))
  members.read(2, await readingOf(4, 20))
  const textOf = async (answered: number[]) => readExposition(await toText(members.all(new Set(answered))))
  const both = await textOf([1, 2])
  assert.deepEqual([sumOf(both, 'answers_total'), sumOf(both, 'level')], [7, 30])
  const silent = await textOf([1])
  assert.deepEqual([sumOf(silent, 'answers_total'), sumOf(silent, 'level')], [7, 10])
  members.gone(2)
  members.gone(1)
  members.read(3, await readingOf(1, 5))
  const replaced = await textOf([3])
  assert.deepEqual([sumOf(replaced, 'answers_total'), sumOf(replaced, 'level')], [8, 5])
  assert.equal(sumOf(replaced, 'seconds_bucket', { le: '2' }), 8)
  assert.equal(replaced.lines.find(({ name }) => name === 'answers_total')!.labels.route, '/\\"a\\"\\\\')
})

test('a node starts when its first process does, which shows one that restarts again and again', async () => {
  const own = await processReader(openMetrics())()
  const START = 'process_start_time_seconds'
  const began = own.find(({ name }) => name === START)!.values[0]!.value
  const later = own.map((each) =>
    each.name === START ? { ...each, values: [{ value: began + 60, labels: {} }] } : each,
  )
  assert.equal(sumOf(readExposition(await toText([later, own])), START), began)
})

test('a failing gauge has the time from the first to the last failure in a row, and 0 when nothing is known any more', async () => {
  const metrics = openMetrics()
  let now_seconds = 0
  const declared = { name: 'failing_seconds', help: 'Failing.', labels: ['call'] } as const
  const streak = streakGauge(metrics, declared, { now: () => now_seconds * 1000 }).of('start')
  const reported: number[] = []
  const at = async (seconds: number, what: () => void = () => {}) => {
    now_seconds = seconds
    what()
    reported.push(sumOf(readExposition(await toText([await metrics.read()])), 'failing_seconds', { call: 'start' }))
  }
  await at(0)
  await at(10, streak.failed)
  await at(40)
  await at(70, streak.failed)
  await at(100, streak.worked)
  await at(110, streak.failed)
  await at(150, streak.failed)
  await at(331)
  await at(340, streak.failed)
  assert.deepEqual(reported, [0, 0, 0, 60, 0, 0, 40, 0, 0])
})

test('a name that is declared twice, and too few labels, are mistakes of the code', () => {
  const metrics = openMetrics()
  const family = metrics.counter({ name: 'a_total', help: 'A.', labels: ['b'] })
  assert.throws(() => metrics.counter({ name: 'a_total', help: 'A.' }), /declared twice/)
  assert.throws(() => (family.of as () => unknown)(), /labels b/)
})

test('a gauge whose reading fails is not reported, rather than with an old value', async () => {
  const metrics = openMetrics()
  const gauge = metrics.gauge({ name: 'depth', help: 'Depth.', merge: 'max' })
  const answers = [async () => 7, () => Promise.reject(new Error('away'))]
  for (const read of answers) {
    refreshGauges(metrics, { read, set: (value) => gauge.of().set(value), unknown: () => gauge.clear() })
  }
  const read = readExposition(await toText([await metrics.read()]))
  assert.equal(read.lines.length, 0)
})

test('scrapes are answered at /metrics alone, and a reading that fails is 500 and logged', async () => {
  const logged: string[] = []
  const log = { ...silentLog, error: (event: string) => void logged.push(event) }
  let fails = false
  const read = async () => {
    if (fails) throw new Error('broken')
    return 'a 1\n'
  }
  const serving = await listenForScrapes({ host: '127.0.0.1', port: 0 }, { read, content_type: 'text/plain', log })
  const get = (path: string, method = 'GET') => fetch(new URL(path, serving.url), { method })
  assert.equal(await (await get('/metrics?x=1')).text(), 'a 1\n')
  assert.equal((await get('/')).status, 404)
  assert.equal((await get('/metrics', 'POST')).status, 404)
  fails = true
  assert.equal((await get('/metrics')).status, 500)
  assert.deepEqual(logged, ['metrics_failed'])
  await serving.close()
})

test('a port that is taken ends the start, naming the port and the setting', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as AddressInfo
  const at = { host: '127.0.0.1', port }
  await assert.rejects(
    listenForScrapes(at, { read: async () => '', content_type: 'text/plain', log: silentLog }),
    (error) => error instanceof StartError && error.message.includes(`${port}`) && /metrics\.port/.test(error.message),
  )
  other.close()
})
