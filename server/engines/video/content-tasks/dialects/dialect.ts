import type { InputName, Protocol } from '../../capabilities.ts'
import type { RenderRequest } from '../../contract.ts'
import type { ProtocolWords } from '../../reply/complaint.ts'
import type { MediaLimits } from '../media-limits.ts'

/** Where the calls go, below the address. The id of the task is added to `poll` and `cancel`. */
export type TaskPaths = { start: string; list: string; poll: string; cancel: string }

/** One protocol of tasks with a `content` list: how a start is written, and what words its replies have. */
export type TaskDialect = {
  /** Between the base URL and the paths below, where the configuration names none. */
  path_prefix(base_url: string): string
  paths: TaskPaths
  resolutions: readonly [standard: string, ...others: string[]]
  /** What a model takes; `inputs` are those that the entry names itself. */
  protocol(
    model: string,
    inputs: readonly InputName[] | undefined,
  ): Pick<Protocol, 'inputs' | 'seconds' | 'references_max'>
  /** What a model takes of media, as far as a probe shows it. */
  media_limits(model: string): MediaLimits
  /** Members of a start beside `model`, `content`, `ratio`, `resolution` and `duration`. */
  extra(request: RenderRequest): Record<string, unknown>
  words: ProtocolWords
  /** Whether an item of the list is a render: other tasks may be in the same list. */
  isRender(item: Record<string, unknown>): boolean
}
