import { isRecord } from '../../../platform/json/record.ts'
import { meaningOfCode, meaningOfText, plainWord } from '../../error-words.ts'

/**
 * Whether a reply says, by flags, counts or reasons alone, that a content filter kept the clip back or blackened it: fal's
 * `has_nsfw_concepts`, xAI's `respect_moderation: false`, Google's `raiMediaFilteredCount`, a `finish_reason`. Counts say so only where there is no clip: of several clips one may
 * have been filtered.
 */
export function isBlocked(reply: unknown, { has_clip }: { has_clip: boolean }, depth = 0): boolean {
  if (depth > DEPTH_MAX) return false
  if (Array.isArray(reply)) return reply.some((each) => isBlocked(each, { has_clip }, depth + 1))
  if (!isRecord(reply)) return false
  return Object.entries(reply).some(([name, value]) => {
    const member = plainWord(name)
    if (OF_THE_REQUEST.test(member)) return false
    if (FLAG.test(member) && [value].flat().some((each) => each === true || each === 'true')) return true
    if (PASSED.test(member) && [value].flat().some((each) => each === false || each === 'false')) return true
    if (!has_clip && COUNT.test(member) && Number(value) > 0) return true
    if (REASON.test(member) && [value].flat().some(isModeration)) return true
    return isBlocked(value, { has_clip }, depth + 1)
  })
}

const DEPTH_MAX = 8
const OF_THE_REQUEST = /^(inputs?|request|params|parameters|options|config|settings|prompt|logs)$/
const FLAG =
  /^((has|is)?(nsfw|unsafe|flagged|blocked|moderated|filtered|sensitive)(concepts?|contents?)?(detected|found)?|(content|safety|moderation)(filtered|blocked|flagged|violation))$/
const PASSED = /^(respect(s|ed)?moderation|passed(moderation|safety)|(moderation|safety)passed)$/
const COUNT = /^(raimedia)?(filtered|blocked|moderated)(video|sample|media)?s?count$/
const REASON = /^(finish|blocked?|filter(ed)?|moderation|raimediafiltered|safety)(reasons?|status|result)$/

function isModeration(value: unknown): boolean {
  if (typeof value !== 'string') return false
  const blocks = /block|violat|filter|fail|reject|prohibit|flag|safety|nsfw|sensitive/i.test(value)
  return meaningOfCode(value) === 'moderation' || (blocks && meaningOfText(value) === 'moderation')
}
