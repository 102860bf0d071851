import { statfs } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { LiveContext } from '../context.ts'
import { entryOptions } from '../engines/engine-entry.ts'
import { engineCallsOf, engineName } from '../engines/measured.ts'
import { breakerOf, type UpstreamState } from '../engines/upstream-health.ts'
import { type Health, unreadyReason } from '../health.ts'
import type { EngineState, ProcessState } from '../operations/store-processes.ts'
import { MIGRATIONS_DIR, readMigrations } from '../platform/db/migrate.ts'
import { VERSION } from '../platform/start/version.ts'

const RESOLUTION_MILLISECONDS = 50

/** Returns a function that says what this process is doing, for its report. */
export function processDescription(
  ctx: LiveContext,
  { check, isStopping }: { check: () => Promise<Health>; isStopping: () => boolean },
): { describe(): Promise<ProcessState>; close(): void } {
  const migration = readMigrations(MIGRATIONS_DIR).at(-1)!.name
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS })
  delay.enable()
  return {
    async describe() {
      const found = await check()
      const { data_dir, storage: store } = ctx.config
      const disk = await statfs(data_dir).catch(() => null)
      const loop_delay_ms = Math.max(0, Math.round(delay.max / 1e6) - RESOLUTION_MILLISECONDS)
      delay.reset()
      const reason = unreadyReason(found, { stopping: isStopping() })
      return {
        version: VERSION,
        migration,
        ready: reason === null,
        reason,
        loop_delay_ms,
        storage: { kind: store.kind, state: found.storage },
        disk_free_bytes: disk && disk.bavail * disk.bsize,
        engines: enginesOf(ctx),
      }
    },
    close: () => void delay.disable(),
  }
}

function enginesOf({ config, engines, metrics, clock }: LiveContext): EngineState[] {
  const calls = engineCallsOf(metrics)
  calls.forgetOld()
  const ahead = clock.now().getTime() - performance.now()
  const at = (ms: number) => new Date(ahead + ms).toISOString()
  const stateOf = (
    about: Pick<EngineState, 'name' | 'family' | 'model' | 'kind'>,
    { slots = null, states = [] }: { slots?: number | null; states?: readonly UpstreamState[] } = {},
  ): EngineState => {
    const failed = calls.failuresOf(about.name)
    return {
      ...about,
      slots,
      breaker: breakerOf(states),
      failures: failed?.failures ?? 0,
      failing_since: failed && at(failed.since_ms),
      last_failed_at: failed && at(failed.last_ms),
      last_error: failed?.error ?? null,
    }
  }
  const video = [...engines.video].flatMap(([model, pool]) =>
    pool.members.map((member) => {
      const about = { name: engineName({ model, id: member.id }), family: 'video', model, kind: member.name }
      return stateOf(about, { slots: member.renders_max, states: [pool.breakerOf(member)!] })
    }),
  )
  const chat = [...engines.chat].map(([model, { name: kind, engine }]) =>
    stateOf(
      { name: engineName({ model, id: null }), family: 'chat', model, kind },
      { states: engine.breakers?.() ?? [] },
    ),
  )
  const judges = (['moderation', 'translation'] as const).map((family) =>
    stateOf({ name: family, family, model: '', kind: entryOptions(config[family]).kind }),
  )
  const transcription = engines.transcription
    ? [stateOf({ name: 'transcription', family: 'transcription', model: '', kind: 'openai' })]
    : []
  return [...video, ...chat, ...judges, ...transcription]
}
