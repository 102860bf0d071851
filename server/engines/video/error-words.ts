import { EngineError } from '../engine-error.ts'

/**
 * The error of a render, from a text that an engine gives in place of a code. The words are read for their kind and not kept: engines
 * repeat prompts in them. `rejected` when they say nothing, since the same render would most likely fail again at full price.
 */
export function errorFromWords(text: string): EngineError {
  const engine_code = /\bE\d{3,5}\b/.exec(text)?.[0]
  const message = 'The engine reports the render as failed.'
  if (MODERATION.test(text)) return new EngineError('moderation', message, { engine_code })
  if (MEDIA.test(text)) return new EngineError('rejected', message, { engine_code, subject: 'reference_media' })
  return new EngineError(TRANSIENT.test(text) ? 'transient' : 'rejected', message, { engine_code })
}

const MODERATION =
  /\b(nsfw|moderat\w*|safety|sensitive|flagged|prohibited|inappropriate|content[ _-](polic|filter|guideline)\w*|polic\w+ violat\w+|violat\w+ .{0,60}(polic|guideline|terms)\w*|usage polic\w+|responsible ai|rai_?media\w*)/i

const BROKEN =
  '(invalid|unsupported|corrupt\\w*|too (large|small|big|long|short)|could not be (loaded|read|decoded|downloaded)|cannot be (loaded|read|decoded|downloaded)|failed to (load|read|decode|download|fetch))'
const FILE = '\\b((reference|input) video|image|audio|frame|media|file)s?\\b'
const MEDIA = new RegExp(`${FILE}.{0,60}${BROKEN}|${BROKEN}.{0,60}${FILE}`, 'i')

const TRANSIENT =
  /time[d ]?-? ?out|temporar|overloaded|unavailable|at capacity|rate[ -]limit|too many requests|try again|interrupted|internal (server )?error|cancell?ed|aborted|expired/i
