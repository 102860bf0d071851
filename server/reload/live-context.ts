import type { VideoModelConfig } from '../config/config.ts'
import type { Context, LiveContext, Settings } from '../context.ts'
import type { FormerModel } from '../engines/registry.ts'
import type { EnginePool } from '../engines/video/pool.ts'
import type { Log } from '../platform/log.ts'
import { engineAddress } from '../videos/render/served-model.ts'
import { findUnfinishedEngines } from '../videos/render/store.ts'

export type OpenLiveContext = {
  ctx: LiveContext
  /** From the next use on, `next` is what requests, turns and jobs see. What began before goes on with what it has. */
  replace(next: Settings): void
  /** Closes the former engines that no unfinished job needs any more. */
  closeFormer(): Promise<void>
  /** Closes every engine. */
  close(): Promise<void>
}

/** Settings that were current once and are closed when their last use has ended. */
type Generation = { settings: Settings; users: number }

/** A former model, and where the renders are that need it. `removed`: no such model is configured, so every job of it needs this one. */
type Former = FormerModel & {
  addresses: ReadonlySet<string>
  removed: boolean
  generation: Generation
  end(): void
}

/** Opens the context of a process with its first settings. */
export function openLiveContext(fixed: Omit<Context, keyof Settings>, first: Settings): OpenLiveContext {
  const former: Former[] = []
  const { begin, end, hold, close } = openGenerations(former, fixed.log)
  let current = begin(first)
  const ctx: LiveContext = {
    ...fixed,
    get config() {
      return current.settings.config
    },
    get engines() {
      return current.settings.engines
    },
    get secret() {
      return current.settings.secret
    },
    get secrets() {
      return current.settings.secrets
    },
    get site() {
      return current.settings.site
    },
    use: () => ({ ctx: { ...ctx }, end: hold(current) }),
  }
  return {
    ctx,
    replace(next) {
      const before = current
      current = begin(next)
      for (const model of formerModels(before.settings, next))
        former.unshift({ ...model, generation: before, end: hold(before) })
      end(before)
    },
    async closeFormer() {
      for (const each of await unneeded(ctx, former)) {
        const index = former.indexOf(each)
        // Another call has closed it meanwhile.
        if (index === -1) continue
        former.splice(index, 1)
        each.end()
      }
    },
    close,
  }
}

/** Counts the uses of settings, and closes their engines with the last one. `former` is what the engines of all of them show as such. */
function openGenerations(former: readonly Former[], log: Log) {
  const open = new Set<Generation>()
  const closing: Promise<unknown>[] = []
  const end = (generation: Generation): void => {
    generation.users -= 1
    if (generation.users > 0 || !open.delete(generation)) return
    closing.push(
      generation.settings.engines.close().catch((error: unknown) => log.warn('engine_not_closed', { error })),
    )
  }
  return {
    begin(settings: Settings): Generation {
      const { engines } = settings
      const generation = { settings: { ...settings, engines: { ...engines, former } }, users: 1 }
      open.add(generation)
      return generation
    },
    end,
    hold(generation: Generation): () => void {
      generation.users += 1
      let ended = false
      return () => {
        if (!ended) end(generation)
        ended = true
      }
    },
    /** Closes the engines of all of them, whoever uses them. */
    async close(): Promise<void> {
      for (const { settings } of open) closing.push(settings.engines.close())
      open.clear()
      await Promise.all(closing)
    },
  }
}

/** The models of `before` that are removed, or of which an engine has been removed or is called elsewhere. */
function formerModels(before: Settings, next: Settings): Array<Omit<Former, 'generation' | 'end'>> {
  return before.config.video_models.flatMap((settings: VideoModelConfig) => {
    const pool = before.engines.video.get(settings.id)
    const kept = next.engines.video.get(settings.id)
    if (!pool) return []
    const addresses = new Set(pool.members.filter((member) => !hasSame(kept, member)).map(engineAddress))
    return addresses.size === 0 ? [] : [{ settings, pool, addresses, removed: kept === undefined }]
  })
}

function hasSame(pool: EnginePool | undefined, member: EnginePool['members'][number]): boolean {
  return pool?.members.some((each) => each.id === member.id && engineAddress(each) === engineAddress(member)) ?? false
}

async function unneeded(ctx: Pick<Context, 'db'>, former: readonly Former[]): Promise<Former[]> {
  // A step that began before the reload may be about to begin a render on its engines.
  const quiet = former.filter(
    ({ generation }) => generation.users === former.filter((each) => each.generation === generation).length,
  )
  if (quiet.length === 0) return []
  const found = await findUnfinishedEngines(ctx.db, [...new Set(quiet.map(({ settings }) => settings.id))])
  return quiet.filter(
    ({ settings, addresses, removed }) =>
      !found.some(
        ({ model, engine_address }) =>
          model === settings.id && (removed || (engine_address !== null && addresses.has(engine_address))),
      ),
  )
}
