import { EngineError } from '../engine-error.ts'
import type { Capabilities, RenderMode, RenderRequest } from './contract.ts'

/** Refuses what an engine cannot take, so that no input is ever dropped in silence. Throws EngineError `rejected`. */
export function refuseUnsupported(request: RenderRequest, capabilities: Capabilities): void {
  const mode = renderMode(request)
  if (!capabilities.modes.has(mode)) throw refuse(`renders of the mode ${mode}`)
  if (!capabilities.aspect_ratios.has(request.aspect_ratio)) throw refuse('this aspect ratio')
  const [min, max] = capabilities.seconds
  if (request.seconds < min || request.seconds > max) throw refuse(`clips of ${request.seconds} seconds`)
  const { images, videos, audio, files } = capabilities.references_max
  const count = (role: string) => request.inputs.filter((input) => input.role === role).length
  if (count('reference_image') > images) throw refuse('this many reference images')
  if (count('reference_video') > videos) throw refuse('this many reference videos')
  if (count('reference_audio') > audio) throw refuse('this much reference audio')
  if (mode === 'references' && request.inputs.length > files) throw refuse('this many references')
}

/** What a request asks for, from the roles of its inputs. */
export function renderMode({ inputs }: Pick<RenderRequest, 'inputs'>): RenderMode {
  const has = (role: string) => inputs.some((input) => input.role === role)
  if (inputs.length === 0) return 'text'
  if (inputs.some((input) => input.role.startsWith('reference_'))) return 'references'
  if (has('first_frame') && has('last_frame')) return 'both_frames'
  return has('first_frame') ? 'first_frame' : 'last_frame'
}

function refuse(what: string): EngineError {
  return new EngineError('rejected', `The engine does not take ${what}.`, { engine_code: 'unsupported' })
}
