import type { EngineErrorKind } from '../../../engine-error.ts'
import type { InputName, Protocol } from '../../capabilities.ts'
import type { RenderRequest } from '../../contract.ts'

/** Where the calls go, below the address. The id of the task is added to `poll` and `cancel`. */
export type TaskPaths = { start: string; list: string; poll: string; cancel: string }

/** What the engine refuses of media, as far as a probe shows it. Image sides are in pixels, the ratio is width ÷ height. */
export type MediaLimits = {
  image_side_min: number
  image_ratio: readonly [min: number, max: number]
  /** Of all reference videos together. */
  video_seconds_max: number
}

/** One protocol of tasks with a `content` list: how a start is written and replies are read. */
export type Dialect = {
  /** Between the base URL and the paths below, where the configuration names none. */
  path_prefix(base_url: string): string
  paths: TaskPaths
  resolutions: readonly [standard: string, ...others: string[]]
  /** What a model takes; `inputs` are those that the entry names itself. */
  protocol(
    model: string,
    inputs: readonly InputName[] | undefined,
  ): Pick<Protocol, 'inputs' | 'seconds' | 'references_max'>
  media_limits: Partial<MediaLimits>
  /** Members of a start beside `model`, `content`, `ratio`, `resolution` and `duration`. */
  extra(request: RenderRequest): Record<string, unknown>
  taskId(json: unknown): unknown
  /** The task in the reply to a poll. */
  task(json: unknown): unknown
  /** `count` is of everything on the page; null when it is not a page. `total` is of the whole list, where it is given. */
  page(json: unknown): { views: unknown[]; count: number; total: unknown } | null
  outputUrl(task: Record<string, unknown>): unknown
  /** The engine's own code in a reply that refuses, or in the `error` of a task; empty when there is none. */
  errorCode(json: unknown): string
  /** What a code means; undefined when the status of the reply decides. */
  errorKind(code: string): EngineErrorKind | undefined
  isMediaCode(code: string): boolean
}
