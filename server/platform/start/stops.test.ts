import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../log.ts'
import { openWithStops } from './stops.ts'

test('what was opened is closed in the reverse order, all of it when one fails, and the error is thrown', async () => {
  const closed: string[] = []
  const stops = await openWithStops(silentLog, async (opened) => {
    opened.defer(async () => void closed.push('database'))
    opened.defer(() => Promise.reject(new Error('not closed')))
    opened.defer(async () => void closed.push('service'))
    return opened
  })
  assert.deepEqual(closed, [])
  await assert.rejects(stops.disposeAsync(), /^Error: not closed$/)
  assert.deepEqual(closed, ['service', 'database'])
})

test('a start that fails closes what it has opened and throws its own error, also when the closing fails', async () => {
  const closed: string[] = []
  const warned: string[] = []
  const log = { ...silentLog, warn: (event: string) => void warned.push(event) }
  const failed = openWithStops(log, async (opened) => {
    opened.defer(async () => void closed.push('database'))
    opened.defer(() => Promise.reject(new Error('not closed')))
    throw new Error('no start')
  })
  await assert.rejects(failed, /^Error: no start$/)
  assert.deepEqual([closed, warned], [['database'], ['stop_failed']])
})
