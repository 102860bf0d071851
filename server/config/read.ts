import { Compile } from 'typebox/compile'
import { type Document, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { isNetwork } from '../platform/http/client-address.ts'
import { problemsIn } from '../platform/schema/problems.ts'
import { type Capability, ConfigFile, type EngineEntry, RENDER_SECONDS } from './file.ts'

/** One thing wrong with the settings, and where: `kinora.yaml:12 plans.free`, `--port`, `KINORA_SECRET`. */
export type Mistake = { place: string; message: string }

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

type Path = Array<string | number>

const shapeOfFile = Compile(ConfigFile)

/** Parses and validates the file's text. `file` is only meaningful when there are no mistakes. */
export function readConfigFile(
  text: string,
  options: { name: string; config_dir?: string; env: NodeJS.ProcessEnv; checkEngine: EngineCheck | null },
): { file: ConfigFile; mistakes: Mistake[] } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: true, uniqueKeys: true })
  const place = (path: Path) =>
    `${options.name}${lineOf(document, lines, path)}${path.length > 0 ? ` ${dotted(path)}` : ''}`
  if (document.errors.length > 0) return { file: {}, mistakes: syntaxMistakes(text, document, lines, options.name) }
  const mistakes: Mistake[] = []
  const whole: unknown = document.toJS() ?? {}
  const value: unknown = substitute(
    options.checkEngine ? whole : withoutEngines(whole),
    [],
    options.env,
    (path, message) => {
      mistakes.push({ place: place(path), message })
    },
  )
  if (!shapeOfFile.Check(value)) {
    for (const { pointer, message } of problemsIn(ConfigFile, value))
      mistakes.push({ place: place(toPath(pointer)), message })
    return { file: {}, mistakes }
  }
  const { config_dir = '.', checkEngine } = options
  const check: EngineCheck = (family, entry, needs) => checkEngine?.(family, entry, needs, { config_dir }) ?? []
  for (const [path, message] of meaningMistakes(value, check)) mistakes.push({ place: place(path), message })
  return { file: value, mistakes }
}

/** Checks that a schema cannot express: duplicates, references between entries, options of engines. */
function* meaningMistakes(file: ConfigFile, checkEngine: EngineCheck): Generator<[Path, string]> {
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

export type SecretSettings = {
  /** Null: one is made and kept in the data directory. At least 32 bytes. */
  secret: string | null
  /** Secrets from before the present one that are still accepted, each of at least 32 bytes. */
  previous_secrets: readonly string[]
}

/** The secret of the service and the previous ones, from the environment. Mistakes are added to `found`, without the secrets. */
export function readSecrets(env: NodeJS.ProcessEnv, found: Mistake[]): SecretSettings {
  const secret = env.KINORA_SECRET ?? null
  const isShort = (each: string) => Buffer.byteLength(each) < 32
  if (secret !== null && isShort(secret)) {
    found.push({ place: 'KINORA_SECRET', message: 'must be at least 32 bytes; leave it unset to have one made' })
  }
  const entries = (env.KINORA_SECRET_PREVIOUS ?? '').split(',').map((each) => each.trim())
  for (const [i, each] of entries.entries()) {
    if (each === '' || !isShort(each)) continue
    const message = `entry ${i + 1} has ${Buffer.byteLength(each)} bytes, and a secret has at least 32; entries are separated by commas`
    found.push({ place: 'KINORA_SECRET_PREVIOUS', message })
  }
  const previous_secrets = entries.filter((each) => each !== '')
  return { secret, previous_secrets }
}

/** A whole number from a flag, else from the environment; null when neither is set. A mistake is added to `mistakes`. */
export function integerSetting(
  setting: { flag: string | undefined; env: string | undefined; name: string; min: number; max: number },
  mistakes: Mistake[],
): number | null {
  const { flag, env, name, min, max } = setting
  const text = flag ?? env
  if (text === undefined) return null
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  const place = flag === undefined ? `KINORA_${name.toUpperCase()}` : `--${name}`
  mistakes.push({ place, message: `must be a whole number from ${min} to ${max}` })
  return null
}

/** The settings that hold engines, or secrets of theirs. */
const OF_ENGINES = new Set(['video_models', 'chat_models', 'moderation', 'translation', 'storage', 'login'])

function withoutEngines(file: unknown): unknown {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) return file
  return Object.fromEntries(Object.entries(file).filter(([name]) => !OF_ENGINES.has(name)))
}

/** Puts environment variables in for `${NAME}` inside strings, so that secrets stay out of the file. */
function substitute(
  value: unknown,
  path: Path,
  env: NodeJS.ProcessEnv,
  report: (path: Path, message: string) => void,
): unknown {
  if (typeof value === 'string') {
    return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      if (!env[name]) report(path, `the environment variable ${name} is not set`)
      return env[name] ?? ''
    })
  }
  if (Array.isArray(value)) return value.map((item, i) => substitute(item, [...path, i], env, report))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, substitute(member, [...path, name], env, report)]),
  )
}

/** Tabs are one mistake: what the parser reports for the lines around them would not help the author. */
function syntaxMistakes(text: string, document: Document, lines: LineCounter, name: string): Mistake[] {
  const rows = text.split('\n')
  const lineOfError = ({ pos }: { pos: [number, number] }) => lines.linePos(pos[0]).line
  const tabs = new Set(document.errors.map(lineOfError).filter((line) => /^ *\t/.test(rows[line - 1] ?? '')))
  const [first, ...more] = [...tabs].sort((a, b) => a - b)
  if (first === undefined) {
    return document.errors.map((error) => ({
      place: `${name}:${lineOfError(error)}`,
      message: error.message.startsWith('Alias cannot be an empty string')
        ? 'write "*" in quotation marks'
        : error.message.split('\n', 1)[0]!.replace(/ at line \d+, column \d+:$/, ''),
    }))
  }
  const others = more.length === 0 ? '' : ` (and ${more.length} more line${more.length === 1 ? '' : 's'})`
  return [{ place: `${name}:${first}`, message: `is indented with a tab; YAML takes spaces alone${others}` }]
}

function toPath(pointer: string): Path {
  return pointer
    .split(pointer.startsWith('/') ? '/' : '.')
    .filter((part) => part !== '')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~')))
}

function dotted(path: Path): string {
  return path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('')
}

/** `:12`, the line of the deepest part of `path` that the document has; empty for an empty document. */
function lineOf(document: Document, lines: LineCounter, path: Path): string {
  let node: unknown = document.contents
  let offset: number | undefined = isMap(node) || isSeq(node) ? node.range?.[0] : undefined
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === part)
      if (!pair) break
      offset = isScalar(pair.key) ? (pair.key.range?.[0] ?? offset) : offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(part)]
      const range = (node as { range?: [number, number, number] } | undefined)?.range
      offset = range?.[0] ?? offset
    } else break
  }
  return offset === undefined ? '' : `:${lines.linePos(offset).line}`
}
