import { meaningOfText, plainWord } from '../../error-words.ts'

/** Where a render is. `ended`: the engine gave it up, for no fault of the request. `blocked`: by its content filter. `gone`: unknown to it. */
export type RenderStage = 'queued' | 'running' | 'done' | 'failed' | 'ended' | 'blocked' | 'gone'

/** What a status word of an engine means, in any case and punctuation; null for a word that is not known. */
export function renderStageOf(status: string): RenderStage | null {
  const word = plainWord(status).replace(/^.*(status|state)(?=.)/, '')
  const known = STAGES.get(word)
  if (known !== undefined) return known
  if (/^(task|video|job)not(found|exist)/.test(word)) return 'gone'
  if (!/fail|error|moderated|violat|block|reject|denied/.test(word)) return null
  // Such as "Content Moderated" and SENSITIVE_WORD_ERROR.
  return meaningOfText(status.replaceAll('_', ' ')) === 'moderation' ? 'blocked' : 'failed'
}

const WORDS: Record<RenderStage, string> = {
  queued:
    'queued queue inqueue enqueued pending waiting wait created submitted submitting scheduled accepted received new notstarted notstart starting initialized initializing',
  running:
    'running processing process inprogress progress started generating rendering preparing active working executing ongoing uploading downloading encoding postprocessing finalizing retrying loading dispatched moderating moderation reviewing checking',
  done: 'completed complete succeeded succeed success successful done finished finish ok ready generated',
  failed: 'failed fail failure error errored rejected invalid crashed unsuccessful exception',
  ended:
    'cancelled canceled cancel expired timeout timedout aborted abort interrupted terminated killed stopped deleted',
  blocked: 'blocked moderated filtered contentfiltered flagged nsfw sensitive',
  gone: 'notfound',
}
const STAGES: ReadonlyMap<string, RenderStage> = new Map(
  Object.entries(WORDS).flatMap(([stage, words]) =>
    words.split(' ').map((word) => [word, stage as RenderStage] as const),
  ),
)
