import { makeScratch, removeScratch } from '../../../media/scratch.ts'
import type { RenderState } from '../contract.ts'

/** One render known to this process, from its start until its files are removed. */
export type Render = {
  attempt_id: string
  state: RenderState
  abort: AbortController
  /** Resolves when nothing writes to `dir` anymore. */
  ended: Promise<void>
  dir: string
}

export type Renders = {
  find(attempt_id: string): Render | undefined
  /**
   * Makes a directory, lets `prepare` fill it and starts the work that it returns. A second call for the same attempt returns the same
   * render. The work waits for its child, resolves with the final state, ends when `abort` fires, and never rejects.
   */
  add(attempt_id: string, prepare: (dir: string) => Promise<Work>): Promise<Render>
  /** Stops the render and removes its files. */
  remove(render: Render): Promise<void>
  /** Removes a finished render after `seconds`. */
  keepFor(render: Render, seconds: number): void
  close(): Promise<void>
}

export type Work = (render: Render) => Promise<RenderState>

/** Finished renders that are kept until the host fetches them. */
const FINISHED_MAX = 50
const UNFETCHED_SECONDS = 3600

/** The renders of one process. Each runs in a child process; they wait for one in the order of their starts. */
export function openRenders({ work_dir }: { work_dir: string }): Renders {
  const renders = new Map<string, Render>()
  const preparing = new Map<string, Promise<Render>>()
  const expiries = new Map<Render, NodeJS.Timeout>()

  const admit = async (attempt_id: string, prepare: (dir: string) => Promise<Work>): Promise<Render> => {
    const dir = await makeScratch(work_dir)
    const work = await prepare(dir).catch(async (error) => {
      await removeScratch(dir)
      throw error
    })
    const state: RenderState = { state: 'running', progress: 0, next_poll_seconds: 1 }
    const render: Render = { attempt_id, state, abort: new AbortController(), ended: Promise.resolve(), dir }
    renders.set(attempt_id, render)
    render.ended = work(render).then((state) => {
      render.state = state
      if (renders.get(attempt_id) === render) keepFor(render, UNFETCHED_SECONDS)
    })
    return render
  }

  const remove = async (render: Render) => {
    renders.delete(render.attempt_id)
    clearTimeout(expiries.get(render))
    expiries.delete(render)
    render.abort.abort()
    await render.ended
    await removeScratch(render.dir)
  }

  const keepFor = (render: Render, seconds: number) => {
    clearTimeout(expiries.get(render))
    expiries.set(render, setTimeout(() => void remove(render), seconds * 1000).unref())
    const [oldest] = expiries.keys()
    if (expiries.size > FINISHED_MAX && oldest) void remove(oldest)
  }

  return {
    find: (attempt_id) => renders.get(attempt_id),
    async add(attempt_id, prepare) {
      const known = renders.get(attempt_id) ?? preparing.get(attempt_id)
      if (known) return known
      const begun = admit(attempt_id, prepare).finally(() => preparing.delete(attempt_id))
      preparing.set(attempt_id, begun)
      return begun
    },
    remove,
    keepFor,
    async close() {
      await Promise.allSettled(preparing.values())
      await Promise.all([...renders.values()].map(remove))
    },
  }
}
