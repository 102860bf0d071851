import type { Config } from '../../config/config.ts'
import { CHAT_CHECKS } from '../../engines/check/chat/checks.ts'
import { type Check, type Finding, runCheck } from '../../engines/check/check.ts'
import { MODERATION_CHECKS, TRANSCRIPTION_CHECKS } from '../../engines/check/moderation.ts'
import { LIVE_VIDEO_CHECKS } from '../../engines/check/video/checks.ts'
import { entryOptions } from '../../engines/engine-entry.ts'
import type { Engines } from '../../engines/registry.ts'
import { TRANSLATION_CHECKS } from '../../videos/translation/check.ts'

export type EngineFamily = 'video' | 'chat' | 'moderation' | 'transcription' | 'translation'
type Cost = Check<unknown>['starts']

/** One engine of the configuration, ready to be checked. `engine`: its name in a model with several. `at`: where it is. */
export type Subject = {
  family: EngineFamily
  model: string | null
  engine: string | null
  kind: string
  at: string | null
  checks: ReadonlyArray<{
    title: string
    starts: Cost
    run(signal: AbortSignal): Promise<Finding>
  }>
}

/** Every engine of the configuration that there is something to ask of. */
export function subjectsOf(config: Config, engines: Engines): Subject[] {
  return [
    ...config.video_models.flatMap((model) => videoSubjects(engines, model)),
    ...config.chat_models.map((model) => chatSubject(config, engines, model)),
    moderationSubject(config, engines),
    ...(engines.transcription === undefined || config.transcription === null
      ? []
      : [
          {
            family: 'transcription' as const,
            model: null,
            engine: null,
            kind: 'openai',
            at: config.transcription.base_url,
            checks: bind(TRANSCRIPTION_CHECKS, engines.transcription, CALL_SECONDS),
          },
        ]),
    ...(engines.translation.available ? [translationSubject(config, engines)] : []),
  ]
}

/** Longest a check of a moderation or transcription engine takes, and of a translator that is asked some sixty times. */
const CALL_SECONDS = 300
const TABLE_SECONDS = 3600
/** What an answer of a check may cost; enough for a model that thinks first. */
const MAX_TOKENS = 1024
const AT_ONCE = 4
/** The longest pause between two polls of a render. */
const POLL_SECONDS = 10

function videoSubjects(engines: Engines, { id, render_seconds }: Config['video_models'][number]): Subject[] {
  return engines.video.get(id)!.members.map((member) => ({
    family: 'video' as const,
    model: id,
    engine: member.id,
    kind: member.name,
    at: member.urls?.[0] ?? null,
    checks: bind(
      LIVE_VIDEO_CHECKS,
      { engine: member.engine, model: member.model, poll_seconds: POLL_SECONDS, serves_files: false },
      render_seconds,
    ),
  }))
}

function chatSubject(config: Config, engines: Engines, model: Config['chat_models'][number]): Subject {
  const { engine, model: name, name: kind, urls } = engines.chat.get(model.id)!
  const subject = {
    engine,
    model: name,
    capabilities: new Set<string>(model.capabilities),
    choices: model.n !== 1,
    effort: model.reasoning_efforts.find((effort) => effort !== 'none' && effort !== 'minimal') ?? null,
    max_tokens: Math.min(MAX_TOKENS, model.max_output_tokens ?? MAX_TOKENS),
    at_once: AT_ONCE,
  }
  return {
    family: 'chat',
    model: model.id,
    engine: null,
    kind,
    at: urls?.[0] ?? null,
    checks: bind(CHAT_CHECKS, subject, config.limits.upstream_total_seconds),
  }
}

function moderationSubject(config: Config, engines: Engines): Subject {
  const options = entryOptions(config.moderation)
  const subject = { engine: engines.moderation, is_list: options.kind === 'rules' }
  return {
    family: 'moderation',
    model: null,
    engine: null,
    kind: options.kind,
    at: addressOf(options.base_url),
    checks: bind(MODERATION_CHECKS, subject, CALL_SECONDS),
  }
}

function translationSubject(config: Config, engines: Engines): Subject {
  const options = entryOptions(config.translation)
  return {
    family: 'translation',
    model: null,
    engine: null,
    kind: options.kind,
    at: addressOf(options.base_url),
    checks: bind(TRANSLATION_CHECKS, engines.translation, TABLE_SECONDS),
  }
}

function bind<S>(checks: ReadonlyArray<Check<S>>, subject: S, seconds: number): Subject['checks'] {
  return checks.map((check) => ({
    title: check.title,
    starts: check.starts,
    run: (signal) => runCheck(check, subject, { signal, seconds }),
  }))
}

/** Fit to be printed: without credentials, query and fragment. */
function addressOf(url: unknown): string | null {
  if (typeof url !== 'string') return null
  const { origin, pathname } = new URL(url)
  return origin + pathname.replace(/\/+$/, '')
}
