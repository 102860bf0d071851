import { isNetwork } from '../platform/http/client-address.ts'
import { DEFAULT_CHAT_MODELS } from './complete.ts'
import { type ConfigFile, RENDER_SECONDS } from './file.ts'
import { type Path, toPath } from './mistake.ts'
import type { Capability, EngineEntry } from './models.ts'
import { storageMistakes } from './storage.ts'

/**
 * Checks one engine entry; each mistake has the path of the option inside the entry. `needs`: what it must be able to do besides: judge
 * pictures, or carry a capability of a chat model; asked of an entry without mistakes. `config_dir`: where relative paths start.
 */
export type EngineCheck = (
  family: 'video' | 'chat' | 'moderation' | 'translation',
  entry: EngineEntry,
  needs?: 'pictures' | Capability,
  env?: { config_dir: string },
) => ReadonlyArray<{ path: string; message: string }>

/** Checks that a schema cannot express: duplicates, references between entries, options of engines. */
export function* meaningMistakes(file: ConfigFile, checkEngine: EngineCheck): Generator<[Path, string]> {
  for (const name of ['public_url', 'engine_url'] as const) {
    if (/\/v1\/*$/.test(file[name] ?? '')) yield [[name], 'must end before /v1, which is added']
  }
  const video = new Set<string>()
  for (const [i, model] of (file.video_models ?? []).entries()) {
    if (video.has(model.id)) yield [['video_models', i, 'id'], `the id ${model.id} is used twice`]
    video.add(model.id)
    yield* videoEngineMistakes(model, ['video_models', i], checkEngine)
    yield* signedUrlMistakes(model, ['video_models', i], file.limits?.render_seconds ?? RENDER_SECONDS)
  }
  const chat = new Set<string>()
  for (const [i, model] of (file.chat_models ?? []).entries()) {
    if (chat.has(model.id) || video.has(model.id)) yield [['chat_models', i, 'id'], `the id ${model.id} is used twice`]
    chat.add(model.id)
    yield* chatEngineMistakes(model, ['chat_models', i], checkEngine)
  }
  for (const [i, proxy] of (file.trusted_proxies ?? []).entries()) {
    if (!isNetwork(proxy)) {
      yield [['trusted_proxies', i], 'must be an address or a network, such as 10.0.0.7, 10.0.0.0/8 or fd00::/8']
    }
  }
  const plans = Object.entries(file.plans ?? {})
  if (file.plans && plans.length === 0) yield [['plans'], 'at least one plan is needed']
  for (const [name, plan] of plans) {
    for (const [kind, known] of [
      ['video_models', file.video_models && video],
      ['chat_models', file.chat_models && chat],
    ] as const) {
      for (const [i, id] of (plan[kind] ?? []).entries()) {
        if (id !== '*' && known && !known.has(id)) yield [['plans', name, kind, i], `no such model: ${id}`]
      }
    }
  }
  const helper = file.prompt_help?.model
  const helpers = file.chat_models ? [...chat] : DEFAULT_CHAT_MODELS.map(({ id }) => id)
  if (helper !== undefined && !helpers.includes(helper))
    yield [['prompt_help', 'model'], `no such chat model: ${helper}`]
  for (const [i, { prompt_help }] of (file.video_models ?? []).entries())
    if (prompt_help !== undefined && helper === undefined)
      yield [['video_models', i, 'prompt_help'], 'is of no use without prompt_help.model']
  yield* storageMistakes(file.storage, file.content_delivery)
  yield* moderationMistakes(file.moderation ?? {}, checkEngine)
  if (file.translation)
    yield* engineMistakes('translation', file.translation.engine, ['translation', 'engine'], checkEngine)
}

function* moderationMistakes(
  { engine, output }: NonNullable<ConfigFile['moderation']>,
  checkEngine: EngineCheck,
): Generator<[Path, string]> {
  const mistakes =
    engine === undefined ? [] : [...engineMistakes('moderation', engine, ['moderation', 'engine'], checkEngine)]
  yield* mistakes
  if (output !== true || mistakes.length > 0) return
  for (const { message } of checkEngine('moderation', (engine as EngineEntry | undefined) ?? 'rules', 'pictures'))
    yield [['moderation', 'output'], message]
}

type ChatModel = NonNullable<ConfigFile['chat_models']>[number]

/** What a model is listed with, its engine has to carry: clients rely on the listing. */
function* chatEngineMistakes(
  { engine, capabilities = [] }: ChatModel,
  path: Path,
  checkEngine: EngineCheck,
): Generator<[Path, string]> {
  const mistakes = [...engineMistakes('chat', engine, [...path, 'engine'], checkEngine)]
  yield* mistakes
  if (mistakes.length > 0) return
  for (const [i, capability] of capabilities.entries()) {
    for (const { message } of checkEngine('chat', engine as EngineEntry, capability))
      yield [[...path, 'capabilities', i], message]
  }
}

type VideoModel = NonNullable<ConfigFile['video_models']>[number]

/** Every engine entry of a model, with its place. */
function enginesOf({ engine, engines }: VideoModel, path: Path): Array<{ engine: unknown; path: Path }> {
  const several = (engines ?? []).map((each, i) => ({ engine: each.engine, path: [...path, 'engines', i, 'engine'] }))
  return engine === undefined ? several : [{ engine, path: [...path, 'engine'] }, ...several]
}

function* videoEngineMistakes(model: VideoModel, path: Path, checkEngine: EngineCheck): Generator<[Path, string]> {
  const { engine, engines = [] } = model
  if (engine === undefined && model.engines === undefined) yield [path, 'needs an engine, or engines']
  if (engine !== undefined && model.engines !== undefined)
    yield [[...path, 'engines'], 'cannot be used with engine; make it the first of engines']
  for (const each of enginesOf(model, path)) yield* engineMistakes('video', each.engine, each.path, checkEngine)
  const names = new Set<string>()
  for (const [i, { name }] of engines.entries()) {
    if (names.has(name)) yield [[...path, 'engines', i, 'name'], `the name ${name} is used twice`]
    names.add(name)
  }
}

/** A signed URL ends with its job, at the latest at the time limit of a render. Every place that may set its life is checked. */
function* signedUrlMistakes(model: VideoModel, path: Path, render_seconds: number): Generator<[Path, string]> {
  const max = model.render_seconds ?? render_seconds
  const own = model.signed_url_ttl_seconds
  const tooLong = `must be at most ${max}, the time limit of a render (render_seconds)`
  if (own !== undefined && own > max) yield [[...path, 'signed_url_ttl_seconds'], tooLong]
  for (const { engine, path: of } of enginesOf(model, path)) {
    const named = typeof engine === 'object' ? (engine as Record<string, unknown>).signed_url_ttl_seconds : undefined
    if (typeof named !== 'number') continue
    const ofEngine = [...of, 'signed_url_ttl_seconds']
    if (named > max) yield [ofEngine, tooLong]
    if (own !== undefined && own !== named)
      yield [ofEngine, `contradicts signed_url_ttl_seconds: ${own} of the model; leave one of them off`]
  }
}

function* engineMistakes(
  family: 'video' | 'chat' | 'moderation' | 'translation',
  entry: unknown,
  path: Path,
  checkEngine: EngineCheck,
): Generator<[Path, string]> {
  for (const mistake of checkEngine(family, entry as EngineEntry)) {
    yield [[...path, ...(mistake.path === '' ? [] : toPath(mistake.path))], mistake.message]
  }
}
