import { type ChildProcess, fork } from 'node:child_process'
import type { Log } from '../../../platform/log.ts'
import { asSentence } from '../../../platform/text.ts'
import { EngineError } from '../../engine-error.ts'
import { type ChildExchange, openChildExchange } from './call.ts'
import type { ChoiceRequest, FromChild, LoadOrder, ToChild } from './protocol.ts'

/** The process that holds the model, restarted when it has died. */
export type ModelProcess = {
  /** Resolves once the model is loaded. Throws EngineError `permanent` when it cannot be. */
  ready(): Promise<unknown>
  /** Only once it is ready. */
  call(type: 'generate' | 'count', turn: ChoiceRequest, signal: AbortSignal): ChildExchange
  close(): Promise<void>
}

type Running = { child: ChildProcess; ready: Promise<unknown>; calls: Map<number, ChildExchange>; gone: Promise<void> }

/** Starts the process and begins to load the model. A model that could not be loaded is not tried again before the next start. */
export function startModelProcess(order: LoadOrder, log?: Pick<Log, 'error'>): ModelProcess {
  let last = 0
  let closed = false
  let unusable: EngineError | null = null
  let running: Running | null = launch()

  const report = (detail: string) => log?.error('chat_engine_needs_operator', { engine: 'llama', detail })

  function launch(): Running {
    const child = fork(new URL('./child/main.ts', import.meta.url), {
      serialization: 'advanced',
      // Ctrl-C in a terminal reaches the service alone, which ends this process when its answers are done.
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: childEnvironment(),
    })
    const calls = new Map<number, ChildExchange>()
    const loaded = Promise.withResolvers<unknown>()
    const gone = Promise.withResolvers<void>()
    loaded.promise.catch(() => undefined)
    let ready = false

    const refuse = (reason: string) => {
      unusable = new EngineError('permanent', `The model cannot be loaded: ${reason}`)
      if (!closed) report(unusable.message)
      loaded.reject(unusable)
    }
    child.on('message', (message: FromChild) => {
      if (message.type === 'loaded') {
        ready = true
        loaded.resolve(undefined)
      } else if (message.type === 'load_failed') {
        refuse(message.message)
      } else {
        calls.get(message.id)?.receive(message)
      }
    })
    const onGone = (reason: string) => {
      running = null
      gone.resolve()
      if (!ready && unusable === null) refuse(reason)
      else if (ready && !closed)
        report(`${asSentence(`The process of the model ended: ${reason}`)} It is started again.`)
      for (const call of [...calls.values()]) call.fail(new EngineError('failed', 'The process of the model ended.'))
    }
    child.once('error', (error) => onGone(error.message))
    child.once('exit', (code, signal) => onGone(signal ?? `exit code ${code}`))
    send(child, { type: 'load', order })
    return { child, ready: loaded.promise, calls, gone: gone.promise }
  }

  return {
    async ready() {
      if (closed) throw new EngineError('failed', 'The model is unloaded.')
      if (unusable !== null) throw unusable
      running ??= launch()
      await running.ready
    },
    call(type, turn, signal) {
      const at = running
      const id = ++last
      const call = openChildExchange(signal, () => at && send(at.child, { type: 'abort', id }))
      if (at === null) {
        call.fail(new EngineError('failed', 'The process of the model ended.'))
        return call
      }
      at.calls.set(id, call)
      void call.ended.then(() => at.calls.delete(id))
      send(at.child, { type, id, turn })
      return call
    },
    async close() {
      closed = true
      const at = running
      at?.child.kill('SIGKILL')
      await at?.gone
    },
  }
}

/** A child that is already gone is reported by its exit. */
function send(child: ChildProcess, message: ToChild): void {
  if (child.connected) child.send(message, () => undefined)
}

/** Enough to find libraries and devices: the process reads a file of others and must hold no secret. */
const INHERITED = /^(PATH|HOME|TMPDIR|TEMP|TMP|SystemRoot|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|CUDA_.*|VK_.*|GGML_.*)$/i

function childEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED.test(name)))
}
