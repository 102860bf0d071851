import { escapeHtml, type PageLanguage } from '../../platform/http/page.ts'
import { framedPage } from '../../platform/http/page-frame.ts'
import { type Field, fieldsOf, typeOf } from './fields.ts'
import { translateText, WORDS } from './words.ts'

type Json = Record<string, unknown>
type Tag = { name: string; description?: string }
type Operation = {
  method: string
  path: string
  summary: string
  description?: string
  tags: string[]
  operationId: string
  security: Json[]
  parameters?: Array<{ name: string; in: string; required: boolean; description?: string; schema: Json }>
  requestBody?: { content: Record<string, { schema?: Json }> }
  responses: Record<string, { description?: string; content?: Record<string, { schema?: Json }> }>
}

/** A body for each call that takes JSON, by `operationId`. */
export type Examples = ReadonlyMap<string, unknown>

/** Whom a part of the page is written for, and with which examples. */
type Reader = {
  language: PageLanguage
  words: (typeof WORDS)[PageLanguage]
  examples: Examples
  /** The named shapes of the document. */
  schemas: Record<string, Json>
}

/** The API as a page of HTML in one language. `document` comes from `describeApi`, `examples` from `examplesOf`. */
export function docsPage(document: Json, examples: Examples, language: PageLanguage): string {
  const operations = operationsOf(document)
  const tags = document.tags as Tag[]
  const schemas = (document.components as { schemas: Record<string, Json> }).schemas
  const reader = { language, words: WORDS[language], examples, schemas }
  const list = contents(tags, operations, reader)
  const { words } = reader
  const parts = tags.map(({ name, description = '' }) => {
    const own = operations.filter((operation) => operation.tags.includes(name))
    const about = inline(translateText(language, description))
    return `<section id="${name}"><h2>${titleOf(name, reader)}</h2><p>${about}</p>${own.map((each) => operationBlock(each, reader)).join('')}</section>`
  })
  const body = `<aside class="side"><nav class="wide" aria-label="${words.contents}">${list}</nav>
<details class="fold"><summary>${words.contents}</summary><nav aria-label="${words.contents}">${list}</nav></details></aside>
<main id="main">
<h1>${words.title}</h1>${words.introduction}
${parts.join('\n')}
<section id="objects"><h2>${words.objects}</h2>${Object.entries(schemas)
    .map(([name, schema]) => schemaBlock(name, schema, reader))
    .join('')}</section>
</main>`
  return framedPage({ language, title: words.title, path: '/docs', place: 'API', body, look: 'reference' })
}

function operationsOf(document: Json): Operation[] {
  return Object.entries(document.paths as Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
  )
}

/** Shown at the side where it is wide, and folded where it is narrow: one of the two is out of sight. */
function contents(tags: readonly Tag[], operations: Operation[], reader: Reader): string {
  const parts = tags.map(({ name }) => {
    const own = operations.filter((operation) => operation.tags.includes(name))
    const items = own.map(
      ({ operationId, method, path }) =>
        `<li><a href="#${operationId}">${badge(method)}<span class="path">${escapeHtml(shortPath(path))}</span></a></li>`,
    )
    return `<p><a href="#${name}">${titleOf(name, reader)}</a></p><ul>${items.join('')}</ul>`
  })
  return `${parts.join('')}<p><a href="#objects">${reader.words.objects}</a></p><p><a href="/openapi.json">openapi.json</a></p>`
}

function operationBlock(operation: Operation, reader: Reader): string {
  const { operationId, method, path, summary, description = '', security } = operation
  const { words, language } = reader
  const who =
    security.length === 0
      ? words.no_credential
      : security
          .flatMap((each) => Object.keys(each))
          .map((name) => (name === 'api_key' ? words.api_key : words.console_login))
          .join(words.or)
  return `<details id="${operationId}"><summary>${badge(method)}<code>${escapeHtml(path)}</code><span class="what">${inline(translateText(language, summary))}</span><i>${who}</i></summary>
<p>${inline(translateText(language, description))}</p>
<pre><code>${escapeHtml(curlOf(operation, reader))}</code></pre>
${parametersBlock(operation, reader)}${bodyBlock(operation, reader)}${answerBlock(operation, reader)}</details>`
}

function parametersBlock({ parameters = [] }: Operation, reader: Reader): string {
  if (parameters.length === 0) return ''
  const { words, language } = reader
  const rows = parameters.map(({ name, in: place, required, description = '', schema }) => ({
    name,
    type: typeOf(schema, language),
    required,
    note: `${words.places[place] ?? place}${language === 'ja' ? '。' : '. '}${translateText(language, description)}`,
  }))
  return `<h4>${words.parameters}</h4>${fieldTable(rows, reader)}`
}

function bodyBlock({ requestBody }: Operation, reader: Reader): string {
  if (!requestBody) return ''
  const { words, language, schemas } = reader
  const types = Object.keys(requestBody.content)
  const { $ref, ...inline } = Object.values(requestBody.content)[0]?.schema ?? {}
  const schema = typeof $ref === 'string' ? schemas[$ref.slice($ref.lastIndexOf('/') + 1)]! : inline
  const fields = fieldTable(fieldsOf(schema, language), reader)
  return `<h4>${words.body} <small>${types.map(escapeHtml).join(words.or)}</small></h4>${fields}`
}

function answerBlock({ responses }: Operation, reader: Reader): string {
  const { words, language } = reader
  const errors = Object.keys(responses).filter((status) => Number(status) >= 400)
  const content = Object.entries(responses['200']?.content ?? {})
  const shown = content.map(([type, { schema }]) =>
    schema?.$ref || schema?.anyOf || schema?.oneOf
      ? typeOf(schema, language)
      : schema
        ? fieldTable(fieldsOf(schema, language), reader)
        : `<code>${escapeHtml(type)}</code>`,
  )
  return `<h4>${words.answer}</h4>${shown.join(' ') || `<p>${Object.keys(responses).find((status) => Number(status) < 400)}</p>`}<p class="errors">${words.errors} ${errors.map((status) => `<code>${status}</code>`).join(' ')}</p>`
}

function schemaBlock(name: string, schema: Json, reader: Reader): string {
  const fields = fieldTable(fieldsOf(schema, reader.language), reader)
  const choice = schema.anyOf || schema.oneOf ? `<p>${typeOf(schema, reader.language)}</p>` : ''
  return `<details id="schema-${name}"><summary><code>${name}</code></summary>${choice}${fields}</details>`
}

function fieldTable(rows: readonly Field[], { words }: Reader): string {
  if (rows.length === 0) return ''
  const lines = rows.map(({ name, type, required, note }) => {
    return `<tr><td><code>${escapeHtml(name)}</code>${required ? '' : ` <em>${words.optional}</em>`}</td><td>${type}</td><td>${inline(note)}</td></tr>`
  })
  return `<div class="scroll"><table><tbody>${lines.join('')}</tbody></table></div>`
}

/** The call as it is typed, its body included; a quote within the body would end it for the shell. */
function curlOf(operation: Operation, { examples }: Reader): string {
  const { operationId, method, path, security, parameters = [], requestBody } = operation
  const types = Object.keys(requestBody?.content ?? {})
  const key = security.some((each) => 'api_key' in each)
  const example = examples.get(operationId)
  const body = example && JSON.stringify(example, null, 2).replaceAll("'", "'\\''")
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$KINORA_BASE_URL${path}"`,
    ...(key ? ['-H "Authorization: Bearer $KINORA_API_KEY"'] : security.length > 0 ? ['-b cookies.txt'] : []),
    ...(parameters.some(({ name }) => name === 'Idempotency-Key') ? ["-H 'Idempotency-Key: first-clip'"] : []),
    ...(body ? [`-H 'Content-Type: application/json' -d '${body}'`] : []),
    ...(types.length === 1 && types[0] === 'multipart/form-data' ? ['-F purpose=vision -F file=@photo.png'] : []),
  ]
  return lines.join(' \\\n  ')
}

function badge(method: string): string {
  return `<b class="method ${method.toLowerCase()}">${method === 'DELETE' ? 'DEL' : method}</b>`
}

function titleOf(tag: string, { words }: Reader): string {
  return words.tags[tag] ?? escapeHtml(tag.slice(0, 1).toUpperCase() + tag.slice(1).replaceAll('_', ' '))
}

function shortPath(path: string): string {
  return path.replace(/^\/v1/, '')
}

/** Escaped text in which `code` is set as code. */
function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}
