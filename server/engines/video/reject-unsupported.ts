import { EngineError } from '../engine-error.ts'
import type { Capabilities, InputRole, RenderMode, RenderRequest } from './contract.ts'

/** Refuses what an engine cannot take, so that no input is ever dropped in silence. Throws EngineError `rejected`. */
export function rejectUnsupportedInput(request: RenderRequest, capabilities: Capabilities): void {
  const what = unsupportedBy(capabilities, request)
  if (what === null) return
  throw new EngineError('rejected', `The engine does not take ${what}.`, { engine_code: 'unsupported' })
}

/** What of a render an engine cannot do, in words; null when it can do all of it. */
export function unsupportedBy(capabilities: Capabilities, request: Asked): string | null {
  const mode = renderMode(request)
  if (!capabilities.modes.has(mode)) return `renders of the mode ${mode}`
  if (!capabilities.aspect_ratios.has(request.aspect_ratio)) return 'this aspect ratio'
  const [min, max] = capabilities.seconds
  if (request.seconds < min || request.seconds > max) return `clips of ${request.seconds} seconds`
  const { images, videos, audio, files } = capabilities.references_max
  const count = (role: string) => request.inputs.filter((input) => input.role === role).length
  if (count('reference_image') > images) return 'this many reference images'
  if (count('reference_video') > videos) return 'this many reference videos'
  if (count('reference_audio') > audio) return 'this much reference audio'
  if (mode === 'references' && request.inputs.length > files) return 'this many references'
  return null
}

/** What a request asks for, from the roles of its inputs. */
export function renderMode({ inputs }: Pick<Asked, 'inputs'>): RenderMode {
  const has = (role: string) => inputs.some((input) => input.role === role)
  if (inputs.length === 0) return 'text'
  if (inputs.some((input) => input.role.startsWith('reference_'))) return 'references'
  if (has('first_frame') && has('last_frame')) return 'both_frames'
  return has('first_frame') ? 'first_frame' : 'last_frame'
}

type Asked = Pick<RenderRequest, 'seconds' | 'aspect_ratio'> & { inputs: ReadonlyArray<{ role: InputRole }> }
