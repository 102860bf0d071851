import Type from 'typebox'
import type { EntryMistake } from './engine-entry.ts'

const NOT_AN_ADDRESS = 'must begin with http:// or https://, and hold no credential, query or fragment'

const addressSchema = (description: string) =>
  Type.String({
    pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
    patternErrorMessage: NOT_AN_ADDRESS,
    description,
  })

/** The address of a server, which may be private. */
export const BaseUrl = addressSchema(
  'Such as http://gpu.internal:8000. Ends in /v1 or not: /v1 is added when the URL names no version.',
)

/** The address of a server, which may be private, to which only the path of a call is added. */
export const ServerUrl = addressSchema('Such as http://translate.internal:5000. Only the path of a call is added.')

/** Scheme, host and port, without a path. */
export const Origin = Type.String({
  pattern: '^https?://[^\\s/?#@]+$',
  patternErrorMessage: `${NOT_AN_ADDRESS}; no path either`,
})

/** `/v1` after a base URL that names no version. Works with and without a slash at the end. */
export function withVersion(base_url: string): string {
  const address = base_url.replace(/\/+$/, '')
  return namesVersion(address) ? address : `${address}/v1`
}

export function namesVersion(base_url: string): boolean {
  return /\/v\d/.test(new URL(base_url).pathname)
}

/** The mistake of copying the address of a call, to which the path of the call would be added again. */
export function baseUrlMistakes(path: string, base_url: string | undefined): EntryMistake[] {
  const call = /(?:\/v\d[^/]*(\/videos|\/moderations)|(\/chat\/completions))\/*$/.exec(base_url ?? '')
  if (!call) return []
  return [{ path, message: `Must end before ${call[1] ?? call[2]}, which is added.` }]
}
