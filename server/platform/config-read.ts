import { Compile } from 'typebox/compile'
import { type Document, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { EngineCheck, EngineEntry } from './config.ts'
import { ConfigFile } from './config-file.ts'

/** One thing wrong with the settings, and where: `kinora.yaml:12 plans.free`, `--port`, `KINORA_SECRET`. */
export type Mistake = { place: string; message: string }

type Path = Array<string | number>

const shapeOfFile = Compile(ConfigFile)

/** Parses and validates the file's text. `file` is only meaningful when there are no mistakes. */
export function readConfigFile(
  text: string,
  options: { name: string; env: NodeJS.ProcessEnv; checkEngine: EngineCheck },
): { file: ConfigFile; mistakes: Mistake[] } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: true, uniqueKeys: true })
  const place = (path: Path) =>
    `${options.name}${lineOf(document, lines, path)}${path.length > 0 ? ` ${dotted(path)}` : ''}`
  if (document.errors.length > 0) {
    const mistakes = document.errors.map((error) => ({
      place: `${options.name}:${lines.linePos(error.pos[0]).line}`,
      message: error.message.split('\n', 1)[0]!,
    }))
    return { file: {}, mistakes }
  }
  const mistakes: Mistake[] = []
  const value: unknown = substitute(document.toJS() ?? {}, [], options.env, (path, message) => {
    mistakes.push({ place: place(path), message })
  })
  if (!shapeOfFile.Check(value)) {
    const found = new Map<string, Mistake>()
    for (const [path, message] of shapeMistakes(shapeOfFile.Errors(value))) {
      const mistake = { place: place(path), message }
      found.set(mistake.place + message, mistake)
    }
    mistakes.push(...found.values())
    return { file: {}, mistakes }
  }
  for (const [path, message] of meaningMistakes(value, options.checkEngine))
    mistakes.push({ place: place(path), message })
  return { file: value, mistakes }
}

/** What a schema cannot say: duplicates, references between entries, the options of engines. */
function* meaningMistakes(file: ConfigFile, checkEngine: EngineCheck): Generator<[Path, string]> {
  const video = new Set<string>()
  for (const [i, model] of (file.video_models ?? []).entries()) {
    if (video.has(model.id)) yield [['video_models', i, 'id'], `the id ${model.id} is used twice`]
    video.add(model.id)
    yield* engineMistakes('video', model.engine, ['video_models', i, 'engine'], checkEngine)
  }
  const chat = new Set<string>()
  for (const [i, model] of (file.chat_models ?? []).entries()) {
    if (chat.has(model.id) || video.has(model.id)) yield [['chat_models', i, 'id'], `the id ${model.id} is used twice`]
    chat.add(model.id)
    yield* engineMistakes('chat', model.engine, ['chat_models', i, 'engine'], checkEngine)
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
  if (file.moderation)
    yield* engineMistakes('moderation', file.moderation.engine, ['moderation', 'engine'], checkEngine)
  if (file.translation)
    yield* engineMistakes('translation', file.translation.engine, ['translation', 'engine'], checkEngine)
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

/** An unknown setting is named by its own place. A member whose content is wrong is told by that content alone. */
function* shapeMistakes(
  errors: ReadonlyArray<{ keyword: string; message: string; instancePath: string; params: object }>,
): Generator<[Path, string]> {
  const inside = (pointer: string) =>
    errors.some(({ keyword, instancePath }) => keyword !== 'boolean' && `${instancePath}/`.startsWith(`${pointer}/`))
  for (const { keyword, message, instancePath, params } of errors) {
    const names = (params as { additionalProperties?: string[] }).additionalProperties
    if (keyword === 'additionalProperties' && names) {
      for (const name of names) {
        const pointer = `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
        if (!inside(pointer)) yield [toPath(pointer), 'unknown setting']
      }
    } else if (keyword !== 'boolean') {
      yield [toPath(instancePath), message]
    }
  }
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
