import { makeScratch, removeScratch, sweepScratch } from '../../media/scratch.ts'
import type { RenderState } from '../video.ts'

/** One render known to this process, from its start until its files are removed. */
export type Render = {
  attempt_id: string
  state: RenderState
  abort: AbortController
  dir: string
}

export type Renders = {
  find(attempt_id: string): Render | undefined
  /**
   * Makes a directory, lets `prepare` fill it and queues what it returns. Called twice for one attempt, it prepares once.
   * `work` runs when its turn comes and resolves with the final state; it must end when `abort` fires.
   */
  add(attempt_id: string, prepare: (dir: string) => Promise<Work>): Promise<Render>
  /** Stops the render and removes its files. */
  remove(render: Render): Promise<void>
  /** Removes a finished render after `seconds`. */
  keepFor(render: Render, seconds: number): void
  close(): Promise<void>
}

export type Work = (render: Render) => Promise<RenderState>

/** Finished renders kept for a host that has not come for them. */
const FINISHED_MAX = 50
const UNFETCHED_SECONDS = 3600

/** The renders of one process: at most `renders_max` at a time, the others wait in the order they came. */
export function openRenders({ work_dir, renders_max }: { work_dir: string; renders_max: number }): Renders {
  const renders = new Map<string, Render>()
  const preparing = new Map<string, Promise<Render>>()
  const expiries = new Map<Render, NodeJS.Timeout>()
  const waiting: { render: Render; work: Work }[] = []
  let running = 0
  let swept: Promise<unknown> | null = null

  const turn = () => {
    while (running < renders_max && waiting.length > 0) {
      const { render, work } = waiting.shift()!
      running++
      void work(render).then((state) => {
        running--
        render.state = state
        if (renders.get(render.attempt_id) === render) keepFor(render, UNFETCHED_SECONDS)
        turn()
      })
    }
  }

  const admit = async (attempt_id: string, prepare: (dir: string) => Promise<Work>): Promise<Render> => {
    swept ??= sweepScratch(work_dir)
    await swept
    const dir = await makeScratch(work_dir)
    const work = await prepare(dir).catch(async (error) => {
      await removeScratch(dir)
      throw error
    })
    const state: RenderState = { state: 'running', progress: 0, next_poll_seconds: 1 }
    const render: Render = { attempt_id, state, abort: new AbortController(), dir }
    renders.set(attempt_id, render)
    waiting.push({ render, work })
    turn()
    return render
  }

  const remove = async (render: Render) => {
    renders.delete(render.attempt_id)
    clearTimeout(expiries.get(render))
    expiries.delete(render)
    const place = waiting.findIndex((queued) => queued.render === render)
    if (place >= 0) waiting.splice(place, 1)
    render.abort.abort()
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
