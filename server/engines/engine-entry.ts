import { createHash } from 'node:crypto'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { Capability, EngineEntry } from '../config/models.ts'
import { canonicalPieces } from '../platform/json/canonical.ts'
import type { Log } from '../platform/log.ts'
import { problemsIn } from '../platform/schema/problems.ts'
import { asSentence } from '../platform/text.ts'

/** `path` leads to the option inside the entry, its parts joined with dots; empty for the entry itself. */
export type EntryMistake = { path: string; message: string }

export type EngineEnv = {
  /** Existing directory in which an engine may keep its working files. */
  work_dir: string
  /** The directory of `kinora.yaml`, from which relative paths in an entry start; the working directory when absent. */
  config_dir?: string
  /** Where an engine reports what only the operator can fix. */
  log?: Pick<Log, 'warn' | 'error'>
  /** How long chat engines may be silent and may take, unless their entry says otherwise. */
  upstream?: { idle_seconds: number; total_seconds: number }
}

/** An engine that serves a model of ours: its name for the model, and its kind. */
export type Served<E> = {
  engine: E
  model: string
  name: string
  /** Where it is, for the log: the base URL of its entry, and that of renders from references where they have their own. */
  url?: string
  references_url?: string
  /** Every address it is called at; none for what runs in this process. */
  urls?: readonly string[]
}

/** What an entry is checked against besides itself. */
export type CheckEnv = Pick<EngineEnv, 'config_dir'>

/** One kind of engine: what its entry looks like, what else can be wrong with it, how it is built. */
export type Kind<E> = {
  schema: TSchema
  mistakes(options: unknown, env: CheckEnv): EntryMistake[]
  build(options: unknown, env: EngineEnv): E
  /** What a model behind a chat engine may be listed with; all capabilities when absent. */
  carries: readonly Capability[] | undefined
}

/** Ties the options of a kind to its schema, so that `build` sees them typed. `mistakes` is asked only once the shape is right. */
export function kind<S extends TSchema, E>(
  schema: S,
  build: (options: Static<S>, env: EngineEnv) => E,
  mistakes: (options: Static<S>, env: CheckEnv) => EntryMistake[] = () => [],
  carries?: readonly Capability[],
): Kind<E> {
  return {
    schema,
    carries,
    mistakes: (options, env) => mistakes(options as Static<S>, env),
    build: (options, env) => build(options as Static<S>, env),
  }
}

/** An entry with its name written out. */
export function entryOptions(setting: EngineEntry): { kind: string; [option: string]: unknown } {
  return typeof setting === 'string' ? { kind: setting } : setting
}

/** Mistakes of one entry, each with the path of the option inside the entry. None means that it can be built. */
export function entryMistakes<E>(
  kinds: ReadonlyMap<string, Kind<E>>,
  setting: EngineEntry,
  env: CheckEnv = {},
): EntryMistake[] {
  const options = entryOptions(setting)
  const known = kinds.get(options.kind)
  if (known === undefined) {
    return [
      { path: typeof setting === 'string' ? '' : 'kind', message: `Must be one of ${[...kinds.keys()].join(', ')}.` },
    ]
  }
  const found = shapeMistakes(known.schema, options)
  return found.length > 0 ? found : known.mistakes(options, env)
}

/** The same for two entries of one engine, whatever the order of their options and the model they ask it for. */
export function entryIdentity(setting: EngineEntry): string {
  const { model: _, ...options } = entryOptions(setting)
  return createHash('sha256')
    .update([...canonicalPieces(options)].join(''))
    .digest('hex')
}

function shapeMistakes(schema: TSchema, options: unknown): EntryMistake[] {
  const found = problemsIn(schema, options).map(({ pointer, message, unknown }) => ({
    path: pointer.slice(1).split('/').join('.'),
    message: unknown
      ? 'Is not an option of this engine.'
      : asSentence(`${message.charAt(0).toUpperCase()}${message.slice(1)}`),
  }))
  if (found.length === 0 && !Value.Check(schema, options))
    return [{ path: '', message: 'Is not a valid entry of this engine.' }]
  return found
}
