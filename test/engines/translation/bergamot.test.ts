import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { bergamotTranslation } from '../../../server/engines/translation/bergamot/adapter.ts'
import { findModelFiles } from '../../../server/engines/translation/bergamot/model-files.ts'
import { startThread } from '../../../server/engines/translation/bergamot/thread.ts'
import { StartError } from '../../../server/platform/start-error.ts'
import { translationEngineContract } from './contract.ts'

const standIn = () => startThread(new URL('./bergamot-worker.ts', import.meta.url))
const MODEL = ['model.jaen.intgemm.alphas.bin', 'lex.50.50.jaen.s2t.bin', 'vocab.jaen.spm']
const FAULTS = ['throw', 'exit', 'crash', 'silence', 'no result', 'too few', 'no text', 'null reply', 'other elements']

const dir = mkdtempSync(join(tmpdir(), 'kinora-bergamot-'))
after(() => rmSync(dir, { recursive: true, force: true }))

/** A directory with these files, each of one byte unless another content is given. */
function modelDir(names: readonly string[], content = 'x'): string {
  const path = mkdtempSync(join(dir, 'model-'))
  for (const name of names) writeFileSync(join(path, name), content)
  return path
}

function translator(model_dir: string, limits: { timeout_seconds?: number } = {}) {
  const engine = bergamotTranslation({ kind: 'bergamot', model_dir, ...limits }, standIn)
  after(() => engine.close?.())
  return engine
}

translationEngineContract(() => ({
  name: 'bergamot',
  // A thread takes its time to start on a busy machine.
  engine: translator(modelDir(MODEL), { timeout_seconds: 5 }),
  losing: () => '猫LOSEが<d>はい</d>と言い、「甲」を見る',
  faults: Object.fromEntries(FAULTS.map((fault) => [fault, () => `猫が FAULT:${fault}。`])),
  silence: () => '猫が FAULT:silence。',
  reset: () => undefined,
}))

const translate = (engine: ReturnType<typeof translator>, text = '猫が歩く') =>
  engine.translate({ text }, new AbortController().signal)

test('a model that cannot be loaded fails every translation, with the reason for the log', async () => {
  const engine = translator(modelDir(MODEL, ''))
  for (let i = 0; i < 2; i++)
    await assert.rejects(translate(engine), {
      name: 'EngineError',
      kind: 'permanent',
      message: /a file of the model is not valid/,
    })
})

test('translations asked for at once all get their own answer', async () => {
  const engine = translator(modelDir(MODEL))
  const texts = Array.from({ length: 20 }, (_, i) => `cat ${i} 猫`)
  const results = await Promise.all(texts.map((text) => translate(engine, text)))
  assert.deepEqual(
    results.map(({ translation }) => translation),
    texts.map((_, i) => `cat ${i} scene`),
  )
})

test('closing ends the thread, and what waits for it', async () => {
  const engine = bergamotTranslation({ kind: 'bergamot', model_dir: modelDir(MODEL) }, standIn)
  await translate(engine)
  const waiting = ['猫が FAULT:silence。', '犬が眠る'].map((text) => translate(engine, text))
  const outcomes = Promise.allSettled(waiting)
  setImmediate(() => void engine.close!())
  assert.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
})

test('the script of the package runs although the package declares ES modules and the script is CommonJS', async () => {
  const path = mkdtempSync(join(dir, 'package-'))
  const script = join(path, 'translator-worker.js')
  writeFileSync(join(path, 'package.json'), '{"type":"module"}')
  writeFileSync(
    script,
    `const { parentPort } = require('node:worker_threads')
    parentPort.on('message', ({ id, args }) => parentPort.postMessage({ id, result: [__dirname, __filename, ...args] }))`,
  )
  const entry = new URL('../../../server/engines/translation/bergamot/script.ts', import.meta.url)
  const thread = startThread(entry, script)
  assert.deepEqual(await thread.call('anything', 1), [path, script, 1])
  thread.stop()
})

test('the files of a model are found by their names, the Japanese one first', () => {
  const path = modelDir([...MODEL, 'model.enja.intgemm.alphas.bin', 'README.md'])
  assert.deepEqual(findModelFiles(path), {
    model: join(path, MODEL[0]!),
    shortlist: join(path, MODEL[1]!),
    vocabularies: [join(path, MODEL[2]!)],
  })
  const two = modelDir([MODEL[0]!, MODEL[1]!, 'srcvocab.jaen.spm', 'trgvocab.jaen.spm'])
  assert.deepEqual(
    findModelFiles(two).vocabularies,
    ['srcvocab.jaen.spm', 'trgvocab.jaen.spm'].map((name) => join(two, name)),
  )
})

test('what is missing is named at start: the directory, a file, the package', () => {
  const message = (start: () => unknown) => {
    try {
      start()
    } catch (error) {
      assert.ok(error instanceof StartError)
      return error.message
    }
    return assert.fail('it started')
  }
  assert.match(
    message(() => translator(join(dir, 'nowhere'))),
    /model_dir cannot be read: ENOENT/,
  )
  assert.match(
    message(() => translator(modelDir(MODEL.slice(0, 2)))),
    /has no vocab\.\*\.spm/,
  )
  const packed = modelDir(MODEL.map((name) => `${name}.gz`))
  assert.match(
    message(() => translator(packed)),
    /has no model\.\*\.bin, no lex\.\*\.bin.*gunzip/,
  )
  const without = () => bergamotTranslation({ kind: 'bergamot', model_dir: modelDir(MODEL) })
  assert.match(message(without), /npm install @browsermt\/bergamot-translator@0\.4\.9/)
})
