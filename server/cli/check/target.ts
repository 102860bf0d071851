import { ApiCallError, type ApiClient, retryTransient } from '../api-client.ts'
import { cancelJobOf } from '../video-run.ts'
import { failureOf, StepFailure, StepSkipped } from './failure.ts'

/** The service as the steps ask it. Every call has a time limit, and an error of one is a StepFailure. */
export type Target = {
  api: ApiClient
  /** Aborts at Ctrl-C. */
  signal: AbortSignal
  ask<T>(method: string, path: string, options?: { body?: unknown; seconds?: number }): Promise<T>
  /** Runs `work`, which makes several calls or reads an answer piece by piece, within `seconds`. `sent` names it in failures. */
  within<T>(seconds: number, sent: string, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Remembers what a step has created, by its path, until it is removed. */
  created(path: string): void
  /** Deletes it now. */
  remove(path: string): Promise<void>
  /** Deletes what is not removed yet, also after Ctrl-C. Returns what could not be deleted. */
  removeRest(): Promise<string[]>
}

/** For what needs no model and moves few bytes. */
const ANSWER_SECONDS = 30
/** How long the removal of one thing is tried again at the end. */
const REMOVAL_SECONDS = 10

export function openTarget(api: ApiClient, signal: AbortSignal): Target {
  const created = new Set<string>()
  const within: Target['within'] = async (seconds, sent, work) => {
    try {
      return await work(AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]))
    } catch (error) {
      if (signal.aborted || error instanceof StepFailure || error instanceof StepSkipped) throw error
      throw new StepFailure(failureOf(sent, error))
    }
  }
  const ask: Target['ask'] = async <T>(
    method: string,
    path: string,
    { body, seconds = ANSWER_SECONDS }: { body?: unknown; seconds?: number } = {},
  ) =>
    within(seconds, `${method} ${path}`, async (limited) => {
      return (await api.call<T>(method, path, { body, signal: limited })).body
    })
  return {
    api,
    signal,
    ask,
    within,
    created: (path) => void created.add(path),
    async remove(path) {
      await ask('DELETE', path)
      created.delete(path)
    },
    async removeRest() {
      for (const path of created) {
        if (await isRemoved(api, path)) created.delete(path)
      }
      return [...created]
    },
  }
}

async function isRemoved(api: ApiClient, path: string): Promise<boolean> {
  const signal = AbortSignal.timeout(ANSWER_SECONDS * 1000)
  try {
    const [, id] = /^\/v1\/videos\/(.+)$/.exec(path) ?? []
    if (id !== undefined) await cancelJobOf(api, id)
    await retryTransient(REMOVAL_SECONDS, signal, () => api.call('DELETE', path, { signal }))
    return true
  } catch (error) {
    return error instanceof ApiCallError && error.code === 'not_found'
  }
}
