import Type, { type TSchema } from 'typebox'
import type { VideoModelConfig } from '../config/config.ts'
import type { Capability, EngineEntry } from '../config/models.ts'
import { settingsMistakes } from './ai-sdk/options.ts'
import { AI_SDK_CARRIES, AiSdkChatOptions, aiSdkChat } from './chat/ai-sdk/adapter.ts'
import type { ChatEngine } from './chat/contract.ts'
import { fanOut } from './chat/fan-out.ts'
import { LLAMA_CARRIES, LlamaOptions, llamaChat } from './chat/llama/adapter.ts'
import { OpenaiChatOptions, openaiChat, openaiChatMistakes } from './chat/openai/adapter.ts'
import { SandboxOptions, sandboxChat } from './chat/sandbox/adapter.ts'
import {
  type CheckEnv,
  type EngineEnv,
  type EntryMistake,
  entryIdentity,
  entryMistakes,
  entryOptions,
  type Kind,
  kind,
  type Served,
} from './engine-entry.ts'
import { ChatGuardOptions, chatGuard, chatGuardMistakes } from './moderation/chat-guard.ts'
import type { ModerationEngine } from './moderation/contract.ts'
import { OpenaiModerationsOptions, openaiModerations } from './moderation/openai-moderations.ts'
import { RulesOptions, rulesMistakes, rulesModeration } from './moderation/rules.ts'
import { openaiTranscription, type TranscriptionEngine, type TranscriptionOptions } from './moderation/transcription.ts'
import { openaiClientMistakes } from './openai-client.ts'
import { type SharedEngines, type TakenEngines, takeEngines } from './shared-engines.ts'
import { BergamotOptions, bergamotTranslation } from './translation/bergamot/adapter.ts'
import { ChatTranslationOptions, chatTranslation } from './translation/chat.ts'
import type { TranslationEngine } from './translation/contract.ts'
import { HttpTranslationOptions, httpTranslation, httpTranslationMistakes } from './translation/http.ts'
import { NoneOptions, noTranslation } from './translation/none.ts'
import { AiSdkVideoOptions, aiSdkVideo, aiSdkVideoMistakes } from './video/ai-sdk/adapter.ts'
import { ComfyuiOptions, comfyuiMistakes, comfyuiVideo } from './video/comfyui/adapter.ts'
import { ContentTasksOptions, contentTasks, contentTasksMistakes } from './video/content-tasks/adapter.ts'
import type { VideoEngine } from './video/contract.ts'
import { InstantOptions, instantVideo } from './video/instant.ts'
import { type EnginePool, enginePool } from './video/pool.ts'
import { QueueOptions, queueMistakes, queueVideo } from './video/queue/adapter.ts'
import { storyboardVideo } from './video/storyboard/adapter.ts'
import { VideosApiOptions, videosApi, videosApiMistakes } from './video/videos-api/adapter.ts'

/** Every engine of the configuration. `video` and `chat` are keyed by the id of the model. */
export type Engines = {
  video: ReadonlyMap<string, EnginePool>
  chat: ReadonlyMap<string, Served<ChatEngine>>
  moderation: ModerationEngine
  /** Absent when none is configured: then sound cannot be judged. */
  transcription?: TranscriptionEngine | undefined
  translation: TranslationEngine
  /** Video models as they were before a reload, newest first: for jobs that were accepted or begun then. */
  former?: readonly FormerModel[]
  close(): Promise<void>
}

/** A video model that a reload has removed or changed the engines of. */
export type FormerModel = { settings: VideoModelConfig; pool: EnginePool }

type ModelEntry = { id: string; engine: EngineEntry }

/** A video model, with one engine or several. */
export type VideoModelEntry = {
  id: string
  engines: ReadonlyArray<{ name: string | null; engine: EngineEntry; weight: number; max_renders: number | null }>
}

/**
 * Builds every configured engine. Models whose entries differ in `model` alone share one. Throws on an entry with mistakes.
 * `shared`: engines of other configurations of this process, which are used again where the entry is the same.
 */
export function buildEngines(
  input: {
    video_models: readonly VideoModelEntry[]
    chat_models: ReadonlyArray<ModelEntry & { n?: 'native' | 'fan_out' | 1 }>
    moderation: EngineEntry
    transcription?: TranscriptionOptions | null
    translation: EngineEntry
  },
  env: EngineEnv,
  { shared = new Map() }: { shared?: SharedEngines } = {},
): Engines {
  const taken = takeEngines(shared)
  try {
    const { moderation, transcription, translation } = input
    const chat = serveChat(input.chat_models, { env, taken })
    const fanned = input.chat_models.filter(({ n }) => n === 'fan_out').map(({ id }) => [id, chat.get(id)!] as const)
    const fanOuts = fanned.map(([id, served]) => [id, { ...served, engine: fanOut(served.engine) }] as const)
    return {
      video: servePools(input.video_models, { env, taken }),
      chat: new Map([...chat, ...fanOuts]),
      moderation: taken.take(`moderation ${wholeIdentity(moderation)}`, () =>
        build(FAMILIES.moderation, moderation, env),
      ),
      transcription: transcription
        ? taken.take(`transcription ${wholeIdentity({ kind: 'openai', ...transcription })}`, () =>
            openaiTranscription(transcription),
          )
        : undefined,
      translation: taken.take(`translation ${wholeIdentity(translation)}`, () =>
        build(FAMILIES.translation, translation, env),
      ),
      close: taken.release,
    }
  } catch (error) {
    void taken.release()
    throw error
  }
}

/**
 * Mistakes of one engine entry, each with the path of the option inside the entry. `needs`: what an engine without other mistakes must be
 * able to do: a moderation engine to judge pictures, a chat engine to carry a capability.
 */
export function engineMistakes(
  family: keyof typeof FAMILIES,
  setting: EngineEntry,
  needs?: 'pictures' | Capability,
  env: CheckEnv = {},
): EntryMistake[] {
  const mistakes = entryMistakes<unknown>(FAMILIES[family], setting, env)
  if (needs === undefined || mistakes.length > 0) return mistakes
  if (needs !== 'pictures') return capabilityMistakes(needs, entryOptions(setting).kind)
  const engine = build(FAMILIES.moderation, setting, { work_dir: '' })
  void engine.close?.()
  return engine.sees_images ? [] : [{ path: '', message: 'Needs a moderation engine that judges images.' }]
}

function capabilityMistakes(capability: Capability, name: string): EntryMistake[] {
  const { carries } = FAMILIES.chat.get(name)!
  if (carries === undefined || carries.includes(capability)) return []
  const message = `The engine ${name} cannot carry ${capability}; it carries ${carries.join(', ')}.`
  return [{ path: '', message }]
}

/** The schema of every kind of a family, by its name: what editors complete an entry from. */
export function engineSchemas(family: keyof typeof FAMILIES): ReadonlyMap<string, TSchema> {
  return new Map([...FAMILIES[family]].map(([name, { schema }]) => [name, schema]))
}

const StoryboardOptions = Type.Object({ kind: Type.Literal('storyboard') }, { additionalProperties: false })

const FAMILIES = {
  video: new Map<string, Kind<VideoEngine>>([
    ['storyboard', kind(StoryboardOptions, (_, { work_dir }) => storyboardVideo({ work_dir }))],
    ['videos-api', kind(VideosApiOptions, videosApi, videosApiMistakes)],
    ['comfyui', kind(ComfyuiOptions, comfyuiVideo, comfyuiMistakes)],
    ['queue', kind(QueueOptions, queueVideo, queueMistakes)],
    ['content-tasks', kind(ContentTasksOptions, contentTasks, contentTasksMistakes)],
    ['ai-sdk', kind(AiSdkVideoOptions, aiSdkVideo, aiSdkVideoMistakes)],
    ['instant', kind(InstantOptions, instantVideo)],
  ]),
  chat: new Map<string, Kind<ChatEngine>>([
    ['sandbox', kind(SandboxOptions, sandboxChat)],
    ['openai', kind(OpenaiChatOptions, openaiChat, openaiChatMistakes)],
    ['llama', kind(LlamaOptions, (options, env) => llamaChat(options, env), undefined, LLAMA_CARRIES)],
    ['ai-sdk', kind(AiSdkChatOptions, aiSdkChat, settingsMistakes, AI_SDK_CARRIES)],
  ]),
  moderation: new Map<string, Kind<ModerationEngine>>([
    ['rules', kind(RulesOptions, rulesModeration, rulesMistakes)],
    ['openai-moderations', kind(OpenaiModerationsOptions, openaiModerations, openaiClientMistakes)],
    ['chat-guard', kind(ChatGuardOptions, chatGuard, chatGuardMistakes)],
  ]),
  translation: new Map<string, Kind<TranslationEngine>>([
    ['none', kind(NoneOptions, noTranslation)],
    ['chat', kind(ChatTranslationOptions, chatTranslation, openaiClientMistakes)],
    ['http', kind(HttpTranslationOptions, httpTranslation, httpTranslationMistakes)],
    ['bergamot', kind(BergamotOptions, (options) => bergamotTranslation(options))],
  ]),
}

type Building = { env: EngineEnv; taken: TakenEngines }

/** Several entries of one model may share an engine with entries of others. */
function servePools(models: readonly VideoModelEntry[], building: Building): Map<string, EnginePool> {
  const serveOne = server<VideoEngine>('video', building)
  return new Map(
    models.map(({ id, engines }) => {
      const members = engines.map(({ name, engine, weight, max_renders }) => ({
        ...serveOne({ id, engine }),
        id: name,
        weight,
        renders_max: max_renders,
      }))
      return [id, enginePool(members)]
    }),
  )
}

function serveChat(models: readonly ModelEntry[], building: Building): Map<string, Served<ChatEngine>> {
  const serveOne = server<ChatEngine>('chat', building)
  return new Map(models.map((model) => [model.id, serveOne(model)]))
}

/** Builds one engine for each entry that differs in more than the model it asks for. */
function server<E extends { close?(): Promise<void> }>(
  family: 'video' | 'chat',
  { env, taken }: Building,
): (model: ModelEntry) => Served<E> {
  const kinds = FAMILIES[family] as unknown as ReadonlyMap<string, Kind<E>>
  // The time limits are built into the engines of chat.
  const limits = family === 'chat' ? JSON.stringify(env.upstream) : ''
  return ({ id, engine: setting }) => {
    const engine = taken.take(`${family} ${limits} ${entryIdentity(setting)}`, () => build(kinds, setting, env))
    const { kind: name, model, base_url, references_base_url, endpoints } = entryOptions(setting)
    const addresses = [base_url, references_base_url, ...baseUrlsOf(endpoints)]
    return {
      engine,
      model: typeof model === 'string' ? model : id,
      name,
      urls: addresses.filter((url) => typeof url === 'string').map(hostAndPath),
      ...(typeof base_url === 'string' && { url: hostAndPath(base_url) }),
      ...(typeof references_base_url === 'string' && { references_url: hostAndPath(references_base_url) }),
    }
  }
}

/** As `entryIdentity`, for engines that are built with the model they ask for. */
function wholeIdentity(setting: EngineEntry): string {
  const { model } = entryOptions(setting)
  return `${entryIdentity(setting)} ${JSON.stringify(model)}`
}

function baseUrlsOf(endpoints: unknown): unknown[] {
  return Array.isArray(endpoints) ? endpoints.map((each: { base_url?: unknown }) => each.base_url) : []
}

/** A URL fit for the log: without credentials, query and fragment. */
function hostAndPath(text: string): string {
  const { origin, pathname } = new URL(text)
  return origin + pathname.replace(/\/+$/, '')
}

function build<E>(kinds: ReadonlyMap<string, Kind<E>>, setting: EngineEntry, env: EngineEnv): E {
  const mistakes = entryMistakes(kinds, setting, env)
  if (mistakes.length > 0)
    throw new Error(`The engine entry is not valid: ${mistakes.map((m) => `${m.path}: ${m.message}`).join(' ')}`)
  const options = entryOptions(setting)
  return kinds.get(options.kind)!.build(options, env)
}
