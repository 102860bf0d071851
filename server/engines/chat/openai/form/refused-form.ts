import type { FormPart } from '../../../engine-error.ts'
import type { ErrorDetail } from '../../../reply-error.ts'

/** The part of our own that a server refuses, if it is one. The wordings are in the tests, each with its source. */
export function refusedForm({ param, message }: ErrorDetail): FormPart | undefined {
  const said = `${param} ${message}`
  return FORMS.find(([pattern]) => pattern.test(said))?.[1]
}

const UNKNOWN = '(unsupported|not (be )?(supported|permitted|allowed)|unexpected|unknown|unrecognized|extra inputs)'
const unknown = (name: string) =>
  new RegExp(`\\b${name}\\b(?!\\W{1,3}instead).*${UNKNOWN}|${UNKNOWN}[^.]*?\\b${name}\\b`, 'is')

const FORMS: ReadonlyArray<readonly [RegExp, FormPart]> = [
  [/\bstream_options\b/i, 'stream_options'],
  [/\bextra_content\b/i, 'extra_content'],
  [/\breasoning_content\b.*\b(must be passed back|is missing|is required)/is, 'no_reasoning'],
  [unknown('reasoning_details'), 'reasoning_details'],
  [
    /tool[ _](call|use)[ _.]?(ids?\b|s\[\d+\]\.id\b).*\b(length|pattern|must (match (the )?pattern|be (a-z|at most|\d))|too long)/is,
    'call_ids',
  ],
  [unknown('max_tokens'), 'max_tokens'],
  [unknown('max_completion_tokens'), 'max_completion_tokens'],
  [/\bdeveloper\b.{0,20}\bnot (one of|supported|allowed)|role\b.{0,40}\bdeveloper\b/i, 'developer_role'],
  [/set to false for non-streaming|only supports? stream/i, 'plain'],
]
