import { parentPort } from 'node:worker_threads'
import { defaultAnswers } from '../../support/upstream/engine-server/answers.ts'
import { translateMarkup } from '../../support/upstream/engine-server/machine-translation.ts'

/**
 * Speaks as the worker of `@browsermt/bergamot-translator` does, without its model. The words `FAULT:<name>` in a text make it fail:
 * see `FAULTS`.
 */
type Call = { id: number; name: string; args: unknown[] }
type TextsCall = { models: Array<{ from: string; to: string }>; texts: Array<{ text: string; html: boolean }> }

const answers = defaultAnswers()
const state = { initialized: false, models: new Set<string>() }

const METHODS: Record<string, (...args: never[]) => unknown> = {
  initialize() {
    state.initialized = true
  },
  loadTranslationModel(pair: { from: string; to: string }, files: Record<string, unknown>) {
    const { model, shortlist, vocabs } = files
    if (!state.initialized) throw new Error('not initialized')
    for (const each of [model, shortlist, ...(vocabs as unknown[])])
      if (!(each instanceof ArrayBuffer) || each.byteLength === 0) throw new Error('a file of the model is not valid')
    state.models.add(JSON.stringify(pair))
  },
  translate({ models, texts }: TextsCall) {
    if (!models.every((pair) => state.models.has(JSON.stringify(pair)))) throw new Error('no such model')
    return texts.map(({ text, html }) => ({ target: { text: html ? ofMarkup(text) : answers.translation(text) } }))
  },
}

function ofMarkup(text: string): string {
  const lose = text.includes('LOSE') ? (markup: string) => markup.replace(/<var[^>]*>[^<]*<\/var>/, '') : String
  return translateMarkup({ ...answers, translatedMarkup: lose }, text, 'var')
}

const FAULTS: Record<string, (id: number) => unknown> = {
  throw: (id) => parentPort!.postMessage({ id, error: { message: 'abort(OOM)' } }),
  exit: () => process.exit(1),
  crash: () =>
    setImmediate(() => {
      throw new Error('out of bounds')
    }),
  silence: () => undefined,
  'no result': (id) => parentPort!.postMessage({ id }),
  'too few': (id) => parentPort!.postMessage({ id, result: [] }),
  'no text': (id) => parentPort!.postMessage({ id, result: [{ target: {} }] }),
  'null reply': (id) => parentPort!.postMessage({ id, result: [null] }),
  'other elements': (id) => parentPort!.postMessage({ id, result: [{ target: { text: 'A <b>cat</b>' } }] }),
}

parentPort!.on('message', ({ id, name, args }: Call) => {
  const fault = name === 'translate' ? /FAULT:([a-z ]+)/.exec(JSON.stringify(args))?.[1] : undefined
  if (fault !== undefined) return void FAULTS[fault.trim()]!(id)
  try {
    parentPort!.postMessage({ id, result: METHODS[name]!(...(args as never[])) })
  } catch (error) {
    parentPort!.postMessage({ id, error: { name: 'Error', message: (error as Error).message } })
  }
})
