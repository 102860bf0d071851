import assert from 'node:assert/strict'
import { basename, dirname } from 'node:path'
import { test } from 'node:test'
import { llamaChat } from '../../../../server/engines/chat/llama/adapter.ts'
import { findPackage } from '../../../../server/engines/chat/llama/model-file.ts'
import { StartError } from '../../../../server/platform/start-error.ts'
import { allEvents, assertEventOrder, textRequest } from '../contract.ts'
import { modelFile, standIn } from './models.ts'

function message(start: () => unknown): string {
  try {
    start()
  } catch (error) {
    assert.ok(error instanceof StartError)
    return error.message
  }
  return assert.fail('it started')
}

test('what is missing is named at start: the package with its command, the file with its path', () => {
  assert.match(
    message(() => findPackage('node-llama-cpp-that-nobody-installed')),
    /npm install node-llama-cpp@3\.22\.1/,
  )
  const start = (model_file: string) => () => llamaChat({ kind: 'llama', model_file }, {}, 'data:text/javascript,')
  assert.match(message(start('nowhere.gguf')), /model_file .* cannot be read: ENOENT.*nowhere\.gguf/)
  assert.match(message(start(dirname(modelFile()))), /is not a file/)
  assert.match(message(start(modelFile('<!doctype html>'))), /is not a GGUF file/)
})

test('a relative model_file starts from the directory of kinora.yaml', async () => {
  const path = modelFile()
  const engine = standIn({ model_file: basename(path) }, { config_dir: dirname(path) })
  assertEventOrder(await allEvents(engine, textRequest('m')), 1)
})

test('closing unloads the model and ends what waits for it', async () => {
  const engine = standIn({ max_parallel: 1, context_tokens: 10_000_000 })
  const forever = textRequest('m', { messages: [{ role: 'user', content: 'FOREVER' }] })
  const outcomes = Promise.allSettled([allEvents(engine, forever), allEvents(engine, textRequest('m'))])
  await engine.countTokens!(forever, new AbortController().signal)
  await engine.close!()
  assert.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
})
