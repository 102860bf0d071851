import { fieldsOf, typeOf } from './docs-fields.ts'
import { escapeHtml } from './platform/page.ts'

type Json = Record<string, unknown>
type Operation = {
  method: string
  path: string
  summary: string
  tags: string[]
  operationId: string
  security: Json[]
  parameters?: Array<{ name: string; in: string; required: boolean; description?: string; schema: Json }>
  requestBody?: { content: Record<string, { schema?: Json }> }
  responses: Record<string, { description?: string; content?: Record<string, { schema?: Json }> }>
}

/** The API as a page of HTML that loads nothing but its own style sheet and runs no script. `document` comes from `describeApi`. */
export function docsPage(document: Json): string {
  const operations = operationsOf(document)
  const tags = document.tags as Array<{ name: string; description?: string }>
  const schemas = (document.components as { schemas: Record<string, Json> }).schemas
  const parts = tags.map(({ name, description = '' }) => {
    const own = operations.filter((operation) => operation.tags.includes(name))
    return `<section id="${name}"><h2>${titleOf(name)}</h2><p>${inline(description)}</p>${own.map(operationBlock).join('')}</section>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Kinora API</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<nav aria-label="Contents"><p class="brand">Kinora <span class="product">API</span></p>${contents(tags, operations)}</nav>
<main id="main">
<header><h1>Kinora API</h1>${introduction()}</header>
${parts.join('\n')}
<section id="objects"><h2>Objects</h2>${Object.entries(schemas)
    .map(([name, schema]) => schemaBlock(name, schema))
    .join('')}</section>
</main>
</body>
</html>
`
}

function operationsOf(document: Json): Operation[] {
  return Object.entries(document.paths as Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
  )
}

function contents(tags: Array<{ name: string }>, operations: Operation[]): string {
  const parts = tags.map(({ name }) => {
    const own = operations.filter((operation) => operation.tags.includes(name))
    const items = own.map(
      ({ operationId, method, path }) =>
        `<li><a href="#${operationId}">${badge(method)}<span class="path">${escapeHtml(shortPath(path))}</span></a></li>`,
    )
    return `<p><a href="#${name}">${titleOf(name)}</a></p><ul>${items.join('')}</ul>`
  })
  return `${parts.join('')}<p><a href="#objects">Objects</a></p><p><a href="/openapi.json">openapi.json</a></p>`
}

function introduction(): string {
  return `<p>Send your API key with every request: <code>Authorization: Bearer kin_…</code>. Keys are made in the console; calls marked
<b>console</b> take its login instead. The official OpenAI clients work unchanged with this service as <code>base_url</code> (ending in <code>/v1</code>).</p>
<p>An error is always <code>{"error":{"message","type","param","code"}}</code>, and every answer has an <code>x-request-id</code>.
Lists take <code>limit</code>, <code>after</code> and <code>order</code>, and answer <code>{"object":"list","data","first_id","last_id","has_more"}</code>.
Times are Unix seconds, amounts are decimal strings.</p>`
}

function operationBlock(operation: Operation): string {
  const { operationId, method, path, summary, security } = operation
  const who =
    security.length === 0
      ? 'no credential'
      : security
          .flatMap((each) => Object.keys(each))
          .map((name) => (name === 'api_key' ? 'API key' : 'console'))
          .join(' or ')
  return `<details id="${operationId}"><summary>${badge(method)}<code>${escapeHtml(path)}</code><span class="what">${inline(summary)}</span><i>${who}</i></summary>
<pre><code>${escapeHtml(curlOf(operation))}</code></pre>
${parametersBlock(operation)}${bodyBlock(operation)}${answerBlock(operation)}</details>`
}

function parametersBlock({ parameters = [] }: Operation): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(({ name, in: place, required, description = '', schema }) => ({
    name,
    type: typeOf(schema),
    required,
    note: `${place}. ${description}`,
  }))
  return `<h4>Parameters</h4>${fieldTable(rows)}`
}

function bodyBlock({ requestBody }: Operation): string {
  if (!requestBody) return ''
  const types = Object.keys(requestBody.content)
  const schema = Object.values(requestBody.content)[0]?.schema
  return `<h4>Body <small>${types.map(escapeHtml).join(' or ')}</small></h4>${schema ? fieldTable(fieldsOf(schema)) : ''}`
}

function answerBlock({ responses }: Operation): string {
  const errors = Object.keys(responses).filter((status) => Number(status) >= 400)
  const content = Object.entries(responses['200']?.content ?? {})
  const shown = content.map(([type, { schema }]) =>
    schema?.$ref ? typeOf(schema) : schema ? fieldTable(fieldsOf(schema)) : `<code>${escapeHtml(type)}</code>`,
  )
  return `<h4>Answer</h4>${shown.join(' ') || '<p>200</p>'}<p class="errors">Errors: ${errors.map((status) => `<code>${status}</code>`).join(' ')}</p>`
}

function schemaBlock(name: string, schema: Json): string {
  return `<details id="schema-${name}"><summary><code>${name}</code></summary>${fieldTable(fieldsOf(schema))}</details>`
}

function fieldTable(rows: Array<{ name: string; type: string; required: boolean; note: string }>): string {
  if (rows.length === 0) return ''
  const lines = rows.map(({ name, type, required, note }) => {
    return `<tr><td><code>${escapeHtml(name)}</code>${required ? '' : ' <em>optional</em>'}</td><td>${type}</td><td>${inline(note)}</td></tr>`
  })
  return `<div class="scroll"><table><tbody>${lines.join('')}</tbody></table></div>`
}

function curlOf({ method, path, security, requestBody }: Operation): string {
  const types = Object.keys(requestBody?.content ?? {})
  const key = security.some((each) => 'api_key' in each)
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$KINORA_BASE_URL${path}"`,
    ...(key ? ['-H "Authorization: Bearer $KINORA_API_KEY"'] : security.length > 0 ? ['-b cookies.txt'] : []),
    ...(types.includes('application/json') ? ["-H 'Content-Type: application/json' -d @body.json"] : []),
    ...(types.length === 1 && types[0] === 'multipart/form-data' ? ['-F purpose=vision -F file=@photo.png'] : []),
  ]
  return lines.join(' \\\n  ')
}

function badge(method: string): string {
  return `<b class="method ${method.toLowerCase()}">${method === 'DELETE' ? 'DEL' : method}</b>`
}

function titleOf(tag: string): string {
  return escapeHtml(tag.slice(0, 1).toUpperCase() + tag.slice(1).replaceAll('_', ' '))
}

function shortPath(path: string): string {
  return path.replace(/^\/v1/, '')
}

/** Escaped text in which `code` is set as code. */
function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}
