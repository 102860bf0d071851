import Type from 'typebox'
import type { ModerationEngine } from './moderation.ts'
import { ChatGuardOptions, chatGuard, chatGuardMistakes } from './moderation-chat-guard.ts'
import { OpenaiModerationsOptions, openaiModerations } from './moderation-openai.ts'
import { RulesOptions, rulesMistakes, rulesModeration } from './moderation-rules.ts'
import {
  type EngineEnv,
  type EngineSetting,
  type Kind,
  kind,
  type Mistake,
  settingIdentity,
  settingMistakes,
  settingOptions,
} from './setting.ts'
import type { TranslationEngine } from './translation.ts'
import { ChatTranslationOptions, chatTranslation } from './translation-chat.ts'
import { NoneOptions, noTranslation } from './translation-none.ts'
import type { VideoEngine } from './video.ts'
import { InstantOptions, instantVideo } from './video-instant.ts'
import { storyboardVideo } from './video-storyboard.ts'
import { VideosApiOptions, videosApi, videosApiMistakes } from './video-videos-api.ts'

export type { EngineSetting } from './setting.ts'

/** Everything outside this process that the service asks for work. `video` is keyed by the id of the video model. */
export type Engines = {
  video: ReadonlyMap<string, { engine: VideoEngine; model: string; name: string }>
  moderation: ModerationEngine
  translation: TranslationEngine
  close(): Promise<void>
}

/** Builds every configured engine. Models whose entries differ in `model` alone share one. Throws on an entry with mistakes. */
export function buildEngines(
  input: {
    video_models: ReadonlyArray<{ id: string; engine: EngineSetting }>
    moderation: EngineSetting
    translation: EngineSetting
  },
  env: EngineEnv,
): Engines {
  const shared = new Map<string, VideoEngine>()
  const video = new Map<string, { engine: VideoEngine; model: string; name: string }>()
  for (const { id, engine: setting } of input.video_models) {
    const identity = settingIdentity(setting)
    const engine = shared.get(identity) ?? build(FAMILIES.video, setting, env)
    shared.set(identity, engine)
    const { kind: name, model } = settingOptions(setting)
    video.set(id, { engine, model: typeof model === 'string' ? model : id, name })
  }
  const moderation = build(FAMILIES.moderation, input.moderation, env)
  const translation = build(FAMILIES.translation, input.translation, env)
  return {
    video,
    moderation,
    translation,
    async close() {
      await Promise.all([...shared.values()].map((engine) => engine.close?.()))
      await Promise.all([moderation.close?.(), translation.close?.()])
    },
  }
}

/** Mistakes of one engine entry, each with the path of the option inside the entry. */
export function engineMistakes(family: 'video' | 'moderation' | 'translation', setting: EngineSetting): Mistake[] {
  return settingMistakes<unknown>(FAMILIES[family], setting)
}

const StoryboardOptions = Type.Object({ kind: Type.Literal('storyboard') }, { additionalProperties: false })

const FAMILIES = {
  video: new Map<string, Kind<VideoEngine>>([
    ['storyboard', kind(StoryboardOptions, (_, { work_dir }) => storyboardVideo({ work_dir }))],
    ['videos-api', kind(VideosApiOptions, videosApi, videosApiMistakes)],
    ['instant', kind(InstantOptions, instantVideo)],
  ]),
  moderation: new Map<string, Kind<ModerationEngine>>([
    ['rules', kind(RulesOptions, rulesModeration, rulesMistakes)],
    ['openai-moderations', kind(OpenaiModerationsOptions, openaiModerations)],
    ['chat-guard', kind(ChatGuardOptions, chatGuard, chatGuardMistakes)],
  ]),
  translation: new Map<string, Kind<TranslationEngine>>([
    ['none', kind(NoneOptions, noTranslation)],
    ['chat', kind(ChatTranslationOptions, chatTranslation)],
  ]),
}

function build<E>(kinds: ReadonlyMap<string, Kind<E>>, setting: EngineSetting, env: EngineEnv): E {
  const mistakes = settingMistakes(kinds, setting)
  if (mistakes.length > 0)
    throw new Error(`The engine entry is not valid: ${mistakes.map((m) => `${m.path}: ${m.message}`).join(' ')}`)
  const options = settingOptions(setting)
  return kinds.get(options.kind)!.build(options, env)
}
