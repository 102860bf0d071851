import { resolve } from 'node:path'
import { Compile } from 'typebox/compile'
import { type Document, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { problemsIn } from '../platform/schema/problems.ts'
import { ConfigFile } from './file.ts'
import { type EngineCheck, meaningMistakes } from './meaning.ts'
import { type ConfigMistake, type Path, toPath } from './mistake.ts'
import { readSecretFile } from './secrets.ts'

const shapeOfFile = Compile(ConfigFile)

/** Parses and validates the file's text. `file` is only meaningful when there are no mistakes. */
export function readConfigFile(
  text: string,
  options: {
    name: string
    config_dir?: string
    env: NodeJS.ProcessEnv
    checkEngine: EngineCheck | null
    storage?: boolean | undefined
  },
): { file: ConfigFile; mistakes: ConfigMistake[] } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: true, uniqueKeys: true })
  const place = (path: Path) =>
    `${options.name}${lineOf(document, lines, path)}${path.length > 0 ? ` ${dotted(path)}` : ''}`
  if (document.errors.length > 0) return { file: {}, mistakes: syntaxMistakes(text, document, lines, options.name) }
  const mistakes: ConfigMistake[] = []
  let whole: unknown
  try {
    whole = document.toJS() ?? {}
  } catch (error) {
    // Aliases of aliases, which would fill the memory. Source: https://eemeli.org/yaml/#tojs-options
    if (!(error instanceof ReferenceError)) throw error
    return { file: {}, mistakes: [{ place: options.name, message: `cannot be read: ${error.message}` }] }
  }
  const value: unknown = substitute(
    options.checkEngine ? whole : withoutEngines(whole, options.storage === true),
    [],
    { env: options.env, config_dir: options.config_dir ?? '.' },
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

/** The settings that hold engines or secrets of theirs, or name their models. */
const OF_ENGINES = new Set(['video_models', 'chat_models', 'moderation', 'translation', 'prompt_help', 'login'])

/** `storage`: whether that stays, with the secrets that it names. */
function withoutEngines(file: unknown, storage: boolean): unknown {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) return file
  const stays = (name: string) => !OF_ENGINES.has(name) && (storage || name !== 'storage')
  return Object.fromEntries(Object.entries(file).filter(([name]) => stays(name)))
}

type Sources = { env: NodeJS.ProcessEnv; config_dir: string }

/** Puts environment variables in for `${NAME}` inside strings, and files for `${file:PATH}`, so that secrets stay out of this file. */
function substitute(value: unknown, path: Path, from: Sources, report: (path: Path, message: string) => void): unknown {
  if (typeof value === 'string') {
    return value.replace(/\$\{(?:file:([^}]+)|([A-Za-z_][A-Za-z0-9_]*))\}/g, (_, file?: string, name?: string) => {
      if (file !== undefined) {
        const read = readSecretFile(resolve(from.config_dir, file))
        if ('problem' in read) report(path, read.problem)
        return 'text' in read ? read.text : ''
      }
      if (!from.env[name!]) report(path, `the environment variable ${name} is not set`)
      return from.env[name!] ?? ''
    })
  }
  if (Array.isArray(value)) return value.map((item, i) => substitute(item, [...path, i], from, report))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, substitute(member, [...path, name], from, report)]),
  )
}

/** Tabs are one mistake: what the parser reports for the lines around them would not help the author. */
function syntaxMistakes(text: string, document: Document, lines: LineCounter, name: string): ConfigMistake[] {
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
