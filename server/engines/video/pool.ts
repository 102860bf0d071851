import type { Served } from '../engine-entry.ts'
import { type Chance, type UpstreamState, upstreamHealth } from '../upstream-health.ts'
import type { AspectRatio, Capabilities, RenderMode, VideoEngine } from './contract.ts'

/**
 * One engine of a video model. `id` is its name in the configuration, which a job keeps from its first start; null for the only engine
 * of a model. `renders_max`: how many of the model's renders it may have at a time; null is no limit.
 */
export type PoolMember = Served<VideoEngine> & { id: string | null; weight: number; renders_max: number | null }

/** The engines that render one video model. Which of them starts a render is chosen for each render, by weight and health. */
export type EnginePool = {
  members: readonly PoolMember[]
  /** The engine of a render that was begun; null when it is no longer configured. A render without a name is of the first. */
  member(id: string | null): PoolMember | null
  /** The engine to start a render on, of those that `can`, without those `tried` already; null when none is left. */
  pick(can: (member: PoolMember) => boolean, tried: ReadonlySet<PoolMember>): PoolMember | null
  /** How a start ended: `refused` opens the circuit breaker at once, since only the operator can fix it. `neutral` does not count. */
  report(member: PoolMember, end: 'worked' | 'failed' | 'refused' | 'neutral'): void
  /** The engine asked not to be called for so long. */
  pause(member: PoolMember, seconds: number): void
  /** The circuit breaker of a member that is the same engine under the same name; undefined when there is none. */
  breakerOf(member: PoolMember): UpstreamState | undefined
}

/** How long a circuit breaker stays open when the engine refused our credential or model. */
const REFUSED_SECONDS = 60

/** `before`: the pool that this one replaces; members that stay keep their circuit breakers. */
export function enginePool(
  members: readonly PoolMember[],
  { before, ...given }: Partial<Chance> & { before?: EnginePool | undefined } = {},
): EnginePool {
  const health = upstreamHealth(
    members.map(({ weight }) => weight),
    { random: Math.random, now: () => performance.now(), ...given },
    members.map((member) => before?.breakerOf(member)),
  )
  const indexOf = (member: PoolMember) => members.indexOf(member)
  return {
    members,
    member: (id) => (id === null ? members[0]! : (members.find((each) => each.id === id) ?? null)),
    pick(can, tried) {
      const out = members.flatMap((member, i) => (tried.has(member) || !can(member) ? [i] : []))
      const chosen = health.pick(out, { healthy: false })
      return chosen === null ? null : members[chosen]!
    },
    report(member, end) {
      health.report(indexOf(member), end === 'refused' ? 'failed' : end)
      if (end === 'refused') health.pause(indexOf(member), REFUSED_SECONDS)
    },
    pause: (member, seconds) => health.pause(indexOf(member), seconds),
    breakerOf({ id, engine, model }) {
      const index = members.findIndex((each) => each.id === id && each.engine === engine && each.model === model)
      return index === -1 ? undefined : health.stateOf(index)
    },
  }
}

/** The pool of a model with one engine. */
export function soleEngine(served: Served<VideoEngine>): EnginePool {
  return enginePool([{ ...served, id: null, weight: 1, renders_max: null }])
}

/** What at least one engine of a pool can do. A render may still ask for more at once than any of them can. */
export function poolCapabilities({ members }: Pick<EnginePool, 'members'>): Capabilities {
  const [first, ...more] = members.map(({ engine, model }) => engine.capabilities(model))
  return more.reduce(unite, first!)
}

function unite(a: Capabilities, b: Capabilities): Capabilities {
  const max = (name: keyof Capabilities['references_max']) => Math.max(a.references_max[name], b.references_max[name])
  return {
    ...a,
    modes: new Set<RenderMode>([...a.modes, ...b.modes]),
    references_max: { images: max('images'), videos: max('videos'), audio: max('audio'), files: max('files') },
    seconds: [Math.min(a.seconds[0], b.seconds[0]), Math.max(a.seconds[1], b.seconds[1])],
    aspect_ratios: new Set<AspectRatio>([...a.aspect_ratios, ...b.aspect_ratios]),
    auto_aspect_ratio: a.auto_aspect_ratio || b.auto_aspect_ratio,
    // What a client may rely on, whichever engine renders.
    cancel: CANCELS[Math.min(CANCELS.indexOf(a.cancel), CANCELS.indexOf(b.cancel))]!,
  }
}

const CANCELS = ['none', 'queued', 'any'] as const
