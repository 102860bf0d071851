import { type SnippetLanguage, shellQuote } from '../../api/snippets.ts'
import type { ResponseBody } from './body.ts'

/**
 * A program that sends exactly this body to `/v1/responses` and prints the answer as it streams: curl, or the official
 * `openai` client for Node or Python. The key is read from `KINORA_API_KEY`; the body is escaped and never run as code.
 */
export function responseProgram(language: SnippetLanguage, base_url: string, body: ResponseBody): string {
  return WRITERS[language](base_url, body)
}

const WRITERS: Record<SnippetLanguage, (base_url: string, body: ResponseBody) => string> = {
  // A quoted here-document: the shell expands nothing in it, and an image may be longer than an argument.
  curl: (base_url, body) =>
    [
      `curl -N ${shellQuote(`${base_url}/v1/responses`)} \\`,
      '  -H "Authorization: Bearer $KINORA_API_KEY" \\',
      '  -H "Content-Type: application/json" \\',
      "  -d @- <<'JSON'",
      JSON.stringify(body, null, 2),
      'JSON',
    ].join('\n'),

  node: (base_url, body) =>
    [
      "import OpenAI from 'openai'",
      '',
      `const client = new OpenAI({ apiKey: process.env.KINORA_API_KEY, baseURL: ${jsText(`${base_url}/v1`)} })`,
      `const stream = await client.responses.create(${write(body, JAVASCRIPT)})`,
      'for await (const event of stream)',
      "  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)",
    ].join('\n'),

  python: (base_url, body) =>
    [
      'import os',
      '',
      'from openai import OpenAI',
      '',
      `client = OpenAI(api_key=os.environ["KINORA_API_KEY"], base_url=${JSON.stringify(`${base_url}/v1`)})`,
      'stream = client.responses.create(',
      ...Object.entries(body).map(([name, value]) => `    ${name}=${write(value, PYTHON, 1)},`),
      ')',
      'for event in stream:',
      '    if event.type == "response.output_text.delta":',
      '        print(event.delta, end="", flush=True)',
    ].join('\n'),
}

type Syntax = {
  indent: string
  text(text: string): string
  constant(value: boolean | null): string
  name(name: string): string
}

const JAVASCRIPT: Syntax = {
  indent: '  ',
  text: jsText,
  constant: String,
  name: (name) => {
    // As a plain name it would set the prototype.
    if (name === '__proto__') return "['__proto__']"
    return /^[A-Za-z_$][\w$]*$/.test(name) ? name : jsText(name)
  },
}

const PYTHON: Syntax = {
  indent: '    ',
  // Python reads JSON escapes the same way.
  text: (text) => JSON.stringify(text),
  constant: (value) => (value === null ? 'None' : value ? 'True' : 'False'),
  name: (name) => JSON.stringify(name),
}

function jsText(text: string): string {
  const inside = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inside}'`
}

/** A value of up to this many characters stays on one line. */
const LINE_LENGTH_MAX = 80

/** A JSON value in the syntax of a language; `depth` is the indentation of its first line. */
function write(value: unknown, syntax: Syntax, depth = 0): string {
  if (typeof value === 'string') return syntax.text(value)
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return syntax.constant((value as boolean | null) ?? null)
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((item) => write(item, syntax, depth + 1))
    : Object.entries(value).map(([name, item]) => `${syntax.name(name)}: ${write(item, syntax, depth + 1)}`)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  if (parts.length === 0) return open + close
  const padding = isList || syntax === PYTHON ? '' : ' '
  const line = `${open}${padding}${parts.join(', ')}${padding}${close}`
  if (line.length <= LINE_LENGTH_MAX && !line.includes('\n')) return line
  const lines = parts.map((part) => `${syntax.indent.repeat(depth + 1)}${part},\n`)
  return `${open}\n${lines.join('')}${syntax.indent.repeat(depth)}${close}`
}
