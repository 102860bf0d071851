import type { EngineEntry } from '../config/models.ts'
import { CALL_BUCKETS, declareMetrics, type Metrics } from '../platform/metrics/metrics.ts'
import { streakGauge } from '../platform/metrics/streaks.ts'
import { type Tracing, traced } from '../platform/tracing/tracing.ts'
import { type EngineCalls, isOfRequest, openEngineCalls } from './engine-calls.ts'
import { entryOptions } from './engine-entry.ts'
import { ENGINE_ERROR_KINDS, EngineError } from './engine-error.ts'
import type { Engines } from './registry.ts'
import type { VideoEngine } from './video/contract.ts'
import { type EnginePool, enginePool, type PoolMember } from './video/pool.ts'

/** `model` is empty for the families that serve no model of ours: moderation, transcription, translation. */
const LABELS = ['family', 'engine', 'model', 'call'] as const

export const engineMetrics = declareMetrics((metrics) => ({
  seconds: metrics.histogram({
    name: 'kinora_engine_call_duration_seconds',
    help: 'Time that calls of engines took, failed ones included. For chat from the request to the end of the answer.',
    labels: LABELS,
    buckets: [...CALL_BUCKETS, 300, 600, 900],
  }),
  errors: metrics.counter({
    name: 'kinora_engine_errors_total',
    help: 'Calls of engines that failed, by the kind of error.',
    labels: [...LABELS, 'kind'],
  }),
  calls: openEngineCalls(),
  failing: streakGauge(metrics, {
    name: 'kinora_engine_failing_seconds',
    help: 'For how long every call of an engine has failed: from the first to the last failure since one worked.',
    labels: LABELS,
  }),
}))

/** How the engines of a process have done lately. */
export function engineCallsOf(metrics: Metrics): EngineCalls {
  return engineMetrics(metrics).calls
}

/** What is called: the engine by its name in the configuration, or its kind where it has none. */
export type MeasuredCall = {
  family: 'chat' | 'video' | 'moderation' | 'transcription' | 'translation'
  engine: string
  model: string
  call: string
  /** How operators name it: see `engineName`. */
  name: string
}

/** Records how calls end: `ended` each of them, before it `worked` or `failed`, neither for one that its caller has given up. */
export type CallRecorder = { ended(seconds: number): void; worked(): void; failed(error: unknown): void }

export function callRecorder(metrics: Metrics, { family, engine, model, call, name }: MeasuredCall): CallRecorder {
  const { seconds, errors, calls, failing } = engineMetrics(metrics)
  const labels = [family, engine, model, call] as const
  const time = seconds.of(...labels)
  const streak = failing.of(...labels)
  // Reported as 0 before the first one, without which Prometheus sees no increase.
  for (const kind of KINDS) errors.of(...labels, kind)
  return {
    ended: (each) => time.observe(each),
    worked() {
      streak.worked()
      calls.worked(name, call)
    },
    failed(error) {
      errors.of(...labels, errorKind(error)).add(1)
      if (isOfRequest(error)) streak.worked()
      else streak.failed()
      calls.failed(name, call, error)
    },
  }
}

/** How operators name an engine: by its model, with its own name where the model lists several, or by its family. */
export function engineName({ model, id }: { model: string; id: string | null }): string {
  return id === null ? model : `${model}/${id}`
}

const KINDS = [...ENGINE_ERROR_KINDS, 'unexpected'] as const

/** The kind of an error for metrics and spans: one of a fixed list, never a text of an engine. */
export function errorKind(error: unknown): string {
  return error instanceof EngineError ? error.kind : 'unexpected'
}

type Telemetry = { metrics: Metrics; tracing: Tracing | null }

/**
 * Returns a function that makes the same engines with calls that are measured and traced, for one configuration after another. Chat is not
 * among them: a turn measures its own call, whose answer is a stream. Calls that the caller aborts are no errors. An engine that two
 * configurations share is the same for both, and keeps the circuit breaker that it has in `before`.
 */
export function engineMeasurer(telemetry: Telemetry): MeasureEngines {
  const known = new WeakMap<object, Map<string, object>>()
  const measure = <E extends object>(
    engine: E,
    about: Omit<MeasuredCall, 'call'>,
    calls: ReadonlyArray<keyof E & string>,
  ): E => {
    const ofEngine = known.get(engine) ?? new Map<string, object>()
    known.set(engine, ofEngine)
    const name = `${about.engine} ${about.model}`
    const found = ofEngine.get(name) ?? measured(engine, about, calls, telemetry)
    ofEngine.set(name, found)
    return found as E
  }
  const measuredMember =
    (model: string) =>
    (member: PoolMember): PoolMember => {
      const name = engineName({ model, id: member.id })
      const about = { family: 'video', engine: member.id ?? member.name, model, name } as const
      return { ...member, engine: measure(member.engine, about, VIDEO_CALLS) }
    }
  return (engines, { moderation, translation }, before) => {
    const only = (family: MeasuredCall['family'], engine: string) => ({ family, name: family, engine, model: '' })
    const poolOf = (id: string, { members }: EnginePool) =>
      enginePool(members.map(measuredMember(id)), { before: before?.video.get(id) })
    return {
      ...engines,
      video: new Map([...engines.video].map(([id, pool]) => [id, poolOf(id, pool)])),
      moderation: measure(engines.moderation, only('moderation', entryOptions(moderation).kind), ['moderate']),
      transcription:
        engines.transcription && measure(engines.transcription, only('transcription', 'openai'), ['transcribe']),
      translation: measure(engines.translation, only('translation', entryOptions(translation).kind), ['translate']),
    }
  }
}

type MeasureEngines = (
  engines: Engines,
  entries: { moderation: EngineEntry; translation: EngineEntry },
  before?: Engines,
) => Engines

const VIDEO_CALLS = ['start', 'recover', 'poll', 'fetch', 'cancel'] as const satisfies ReadonlyArray<keyof VideoEngine>

/** Of a render there are thousands: their times are in the metrics alone. */
const UNTRACED: ReadonlySet<string> = new Set(['poll'] satisfies Array<keyof VideoEngine>)

type Call = (...given: unknown[]) => Promise<unknown>

/** The engine, with those of `calls` that it has replaced. Everything else is its own, read when it is used. */
function measured<E extends object>(
  engine: E,
  about: Omit<MeasuredCall, 'call'>,
  calls: ReadonlyArray<keyof E & string>,
  { metrics, tracing }: Telemetry,
): E {
  const outer = Object.create(engine) as Record<string, Call>
  const inner = engine as Record<string, Call>
  for (const call of calls) {
    if (inner[call] === undefined) continue
    const recorder = callRecorder(metrics, { ...about, call })
    const attributes = {
      'kinora.engine.family': about.family,
      'kinora.engine': about.engine,
      'kinora.model': about.model,
    }
    outer[call] = async (...given) => {
      const began = performance.now()
      try {
        const result = await traced(
          UNTRACED.has(call) ? null : tracing,
          [`${about.family} ${call}`, () => ({ kind: 'client', attributes })],
          errorKind,
          () => inner[call]!(...given),
        )
        recorder.worked()
        return result
      } catch (error) {
        if (!given.some((each) => each instanceof AbortSignal && each.aborted)) recorder.failed(error)
        throw error
      } finally {
        recorder.ended((performance.now() - began) / 1000)
      }
    }
  }
  return outer as E
}
