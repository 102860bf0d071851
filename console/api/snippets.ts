export type SnippetLanguage = 'curl' | 'node' | 'python'

export type SnippetRequest = {
  language: SnippetLanguage
  method: 'GET' | 'POST' | 'DELETE'
  /** Of the API, with `/v1`: `/v1/videos`. */
  path: string
  /** Where clients reach the API, without `/v1`. */
  base_url: string
  /** Sent as JSON; properties without a value are left out. */
  body?: unknown
  headers?: Record<string, string>
}

/** Languages by their usual names. */
export const SNIPPET_LANGUAGES: ReadonlyArray<{ value: SnippetLanguage; label: string }> = [
  { value: 'curl', label: 'curl' },
  { value: 'node', label: 'Node' },
  { value: 'python', label: 'Python' },
]

/**
 * A program that sends this request and runs as it is once `KINORA_API_KEY` is set in its environment. Texts are quoted by the
 * rules of each language, so that no prompt can break out of its quotes. Node needs no package, Python needs `requests`.
 */
export function snippet(request: SnippetRequest): string {
  return WRITERS[request.language](request)
}

const WRITERS: Record<SnippetLanguage, (request: SnippetRequest) => string> = {
  curl({ method, path, base_url, body, headers = {} }) {
    const lines = [`curl ${shellQuote(base_url + path)}`]
    if (method !== (body === undefined ? 'GET' : 'POST')) lines.push(`-X ${method}`)
    lines.push('-H "Authorization: Bearer $KINORA_API_KEY"')
    for (const [name, value] of Object.entries({ ...jsonType(body), ...headers }))
      lines.push(`-H ${shellQuote(`${name}: ${value}`)}`)
    // `-d` would read a file when the text began with `@`; JSON never does.
    if (body !== undefined) lines.push(`-d ${shellQuote(JSON.stringify(body, null, 2))}`)
    return lines.join(' \\\n  ')
  },

  node({ method, path, base_url, body, headers = {} }) {
    const sent = Object.entries({ ...jsonType(body), ...headers })
    return [
      `const response = await fetch(${JSON.stringify(base_url + path)}, {`,
      ...(method === 'GET' ? [] : [`  method: ${JSON.stringify(method)},`]),
      '  headers: {',
      '    Authorization: "Bearer " + process.env.KINORA_API_KEY,',
      ...sent.map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`),
      '  },',
      ...(body === undefined ? [] : [`  body: JSON.stringify(${indent(JSON.stringify(body, null, 2), 2)}),`]),
      '})',
      'console.log(await response.json())',
    ].join('\n')
  },

  python({ method, path, base_url, body, headers = {} }) {
    return [
      'import os, requests',
      '',
      `response = requests.${method.toLowerCase()}(`,
      `    ${JSON.stringify(base_url + path)},`,
      '    headers={',
      '        "Authorization": "Bearer " + os.environ["KINORA_API_KEY"],',
      ...Object.entries(headers).map(([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`),
      '    },',
      ...(body === undefined ? [] : [`    json=${indent(pythonLiteral(JSON.parse(JSON.stringify(body))), 4)},`]),
      ')',
      'print(response.json())',
    ].join('\n')
  },
}

function jsonType(body: unknown): Record<string, string> {
  return body === undefined ? {} : { 'Content-Type': 'application/json' }
}

/** One word of a POSIX shell: within single quotes nothing has a meaning but the quote itself. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A JSON value as Python writes it. What JSON escapes in a text, Python reads the same way. */
function pythonLiteral(value: unknown, depth = 0): string {
  const inner = '    '.repeat(depth + 1)
  const outer = '    '.repeat(depth)
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[\n${value.map((item) => `${inner}${pythonLiteral(item, depth + 1)},\n`).join('')}${outer}]`
  }
  if (typeof value === 'object') {
    const members = Object.entries(value as Record<string, unknown>)
    if (members.length === 0) return '{}'
    const lines = members.map(([key, item]) => `${inner}${JSON.stringify(key)}: ${pythonLiteral(item, depth + 1)},\n`)
    return `{\n${lines.join('')}${outer}}`
  }
  return JSON.stringify(value)
}

/** The lines after the first, moved to the right. JSON writes line breaks only between members, never within a text. */
function indent(text: string, spaces: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(spaces)}`)
}
