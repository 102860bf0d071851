/** Calls on videos that the OpenAI API has and this one has not. Source: contract 5. */
const NOT_OFFERED = /^\/v1\/videos\/(?:(edits|extensions|characters)(?:\/[^/]*)?|[^/]+\/(remix))\/?$/

/** What a 404 says of such a path; undefined for every other. */
export function explainNotOffered(path: string): string | undefined {
  const [, one, other] = NOT_OFFERED.exec(path) ?? []
  const call = one ?? other
  return (
    call && `'${call}' of the OpenAI videos API is not offered here: submit a new job with POST /v1/videos instead.`
  )
}
