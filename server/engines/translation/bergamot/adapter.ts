import { createRequire } from 'node:module'
import Type from 'typebox'
import { StartError } from '../../../platform/start-error.ts'
import { EngineError } from '../../engine-error.ts'
import { unreadableReply } from '../../reply-error.ts'
import { secondsForLength, type TranslationEngine } from '../contract.ts'
import { translateAround } from '../markup.ts'
import { findModelFiles, type ModelFiles, readModel } from './model-files.ts'
import { startThread, type Thread } from './thread.ts'

/** `model_dir`: the directory with the files of a Japanese to English model. */
export const BergamotOptions = Type.Object(
  {
    kind: Type.Literal('bergamot'),
    model_dir: Type.String({ minLength: 1 }),
    timeout_seconds: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
)
export type BergamotOptions = Type.Static<typeof BergamotOptions>

/** The package and the version it was tried with. */
const PACKAGE = '@browsermt/bergamot-translator'
const VERSION = '0.4.9'

const PAIR = { from: 'ja', to: 'en' }
/** The time limit of one sentence where the entry sets none: the first one waits for the model to be loaded. */
const SENTENCE_SECONDS = 60
/** An element whose content Bergamot leaves alone, and which does not split a sentence. */
const TAG = 'var'

/**
 * Translation in this process by Bergamot's WebAssembly build, in a thread of its own, one text at a time. The model is loaded with the
 * first text. Throws StartError when the package or a file of the model is missing.
 * Source: https://www.npmjs.com/package/@browsermt/bergamot-translator/v/0.4.9
 */
export function bergamotTranslation(
  { model_dir, timeout_seconds }: BergamotOptions,
  startWorker = packageWorker(),
): TranslationEngine {
  const files = findModelFiles(model_dir)
  let loaded: Loaded | null = null
  let queue: Promise<unknown> = Promise.resolve()
  let closed = false

  const discard = () => {
    loaded?.thread.stop()
    loaded = null
  }

  async function run(texts: readonly string[], html: boolean, signal: AbortSignal): Promise<string[]> {
    const seconds = timeout_seconds ?? SENTENCE_SECONDS + secondsForLength(texts.join(''))
    const limit = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)])
    const stopped = whenAborted(limit)
    try {
      if (closed) throw new EngineError('transient', 'The translator is closed.')
      loaded ??= load(startWorker(), files)
      const { thread, ready } = loaded
      await Promise.race([ready, stopped])
      const call = { models: [PAIR], texts: texts.map((text) => ({ text, html })) }
      return readReplies(await Promise.race([thread.call('translate', call), stopped]), texts.length)
    } catch (error) {
      // A thread that failed, or is still at work on what nobody waits for, cannot be asked again.
      discard()
      if (error instanceof EngineError) throw error
      throw new EngineError('transient', 'The translator failed.', { engine_code: 'thread_failed' })
    }
  }

  function translateTexts(texts: readonly string[], html: boolean, signal: AbortSignal): Promise<string[]> {
    if (texts.length === 0) return Promise.resolve([])
    const turn = queue.then(() => run(texts, html, signal))
    queue = turn.catch(() => undefined)
    return Promise.race([turn, whenAborted(signal)])
  }

  return {
    available: true,
    literal: true,
    translate: (input, signal) =>
      translateAround(input, TAG, (texts, { markup }) => translateTexts(texts, markup, signal)),
    async close() {
      closed = true
      discard()
    },
  }
}

type Loaded = { thread: Thread; ready: Promise<void> }

function load(thread: Thread, files: ModelFiles): Loaded {
  const ready = prepare(thread, files)
  // Whoever waits for it sees the error; nobody may be left to wait.
  ready.catch(() => undefined)
  return { thread, ready }
}

async function prepare(thread: Thread, files: ModelFiles): Promise<void> {
  try {
    await thread.call('initialize', { cacheSize: 0 })
    await thread.call('loadTranslationModel', PAIR, await readModel(files))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new EngineError('permanent', `The translation model cannot be loaded: ${reason}`)
  }
}

/** Starts the worker of the package, which is looked for beside Kinora's own packages. */
function packageWorker(): () => Thread {
  let file: string
  try {
    file = createRequire(import.meta.url).resolve(`${PACKAGE}/worker/translator-worker.js`)
  } catch {
    throw new StartError(
      `translation.engine: bergamot needs the package ${PACKAGE}, which is not installed. In Kinora's directory, run: npm install ${PACKAGE}@${VERSION}`,
    )
  }
  return () => startThread(new URL('./script.ts', import.meta.url), file)
}

function readReplies(replies: unknown, count: number): string[] {
  const texts = Array.isArray(replies)
    ? replies.map((reply: { target?: { text?: unknown } } | null) => reply?.target?.text)
    : []
  if (texts.length !== count || !texts.every((text) => typeof text === 'string'))
    throw unreadableReply('it does not hold one translation for each text')
  return texts
}

function whenAborted(signal: AbortSignal): Promise<never> {
  const aborted = new Promise<never>((_, reject) => {
    const fail = () => reject(new EngineError('transient', 'The translator was too slow.', { engine_code: 'timeout' }))
    if (signal.aborted) fail()
    else signal.addEventListener('abort', fail, { once: true })
  })
  aborted.catch(() => undefined)
  return aborted
}
