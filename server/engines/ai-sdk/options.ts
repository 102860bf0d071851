import Type from 'typebox'
import { ServerUrl } from '../base-url.ts'
import type { EntryMistake } from '../engine-entry.ts'

/**
 * Options of every engine that calls its server through a provider package of the AI SDK, which the operator installs. `base_url` is the
 * address that the package is given, with its version. `settings` are further settings of its provider, `provider_options` of each call,
 * as the package documents them.
 */
export const AiSdkOptions = {
  kind: Type.Literal('ai-sdk'),
  package: Type.String({
    pattern: '^@ai-sdk/[a-z0-9][a-z0-9-]*$',
    patternErrorMessage: 'must be a package such as @ai-sdk/anthropic',
  }),
  base_url: ServerUrl,
  model: Type.Optional(Type.String({ minLength: 1 })),
  api_key: Type.Optional(Type.String({ minLength: 1 })),
  headers: Type.Optional(Type.Record(Type.String({ minLength: 1 }), Type.String())),
  settings: Type.Optional(Type.Record(Type.String({ minLength: 1 }), Type.Unknown())),
  provider_options: Type.Optional(
    Type.Record(Type.String({ minLength: 1 }), Type.Record(Type.String({ minLength: 1 }), Type.Unknown())),
  ),
}

/** Settings that have an option of their own, or that would replace Kinora's guarded client. */
const RESERVED_SETTINGS = new Set(['apiKey', 'baseURL', 'headers', 'fetch'])

/** Settings that would replace an option. */
export function settingsMistakes({ settings = {} }: { settings?: Record<string, unknown> }): EntryMistake[] {
  const reserved = Object.keys(settings).filter((name) => RESERVED_SETTINGS.has(name))
  return reserved.map((name) => ({ path: `settings.${name}`, message: 'Cannot be set here.' }))
}

type ProviderOptions = {
  base_url: string
  api_key?: string
  headers?: Record<string, string>
  settings?: Record<string, unknown>
}

/** What a factory is given: the operator's settings, then what options and Kinora's client decide. */
export function providerSettings(options: ProviderOptions, guarded: typeof fetch): Record<string, unknown> {
  return {
    ...options.settings,
    baseURL: options.base_url.replace(/\/+$/, ''),
    fetch: guarded,
    ...(options.api_key === undefined ? {} : { apiKey: options.api_key }),
    ...(options.headers === undefined ? {} : { headers: options.headers }),
  }
}
