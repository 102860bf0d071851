type Json = Record<string, unknown>

export type Operation = {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security: Json[]
  parameters?: Array<{ name: string; in: string; required?: boolean; schema?: Json; content?: Json }>
  requestBody?: Json & { content: Record<string, Json> }
  responses: Record<string, Json>
}

export type ApiDocument = {
  openapi: string
  info: { title: string; version: string }
  tags: Array<{ name: string }>
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Json>; securitySchemes: Record<string, Json> }
}

const METHODS = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'])
const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'])

export function operationsOf(document: ApiDocument): Array<{ method: string; path: string; operation: Operation }> {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

/** What breaks a rule of https://spec.openapis.org/oas/v3.1.1, one line each. */
export function checkDocument(document: ApiDocument): string[] {
  const wrong: string[] = []
  if (!document.info.title || !document.info.version) wrong.push('info needs title and version')
  const ids = new Set<string>()
  const shapes = new Set<string>()
  for (const { method, path, operation } of operationsOf(document)) {
    const report = (text: string) => wrong.push(`${method} ${path}: ${text}`)
    if (!METHODS.has(method.toLowerCase())) report('no such method')
    if (ids.has(operation.operationId)) report(`operationId ${operation.operationId} is used twice`)
    ids.add(operation.operationId)
    shapes.add(path)
    checkOperation(document, path, operation, report)
  }
  const templates = [...shapes].map((path) => path.replace(/\{[^}]+\}/g, '{}'))
  if (new Set(templates).size !== templates.length) wrong.push('two paths differ in the names of parameters alone')
  walk(document, '#', (value, at) => checkPart(document, value, at, wrong))
  return wrong
}

/**
 * What clients that others generate do not compile, one line each: oapi-codegen, openapi-generator and openapi-python-client, which
 * test/clients/generators.test.ts runs.
 */
export function generatorProblems(document: ApiDocument): string[] {
  const wrong: string[] = []
  for (const { operation } of operationsOf(document)) {
    const report = (text: string) => wrong.push(`${operation.operationId}: ${text}`)
    if ((operation.description ?? '') === '') report('it has no description')
    const identifiers = (operation.parameters ?? []).map(({ name }) => name.replace(/\W/g, '').toLowerCase())
    if (new Set(identifiers).size !== identifiers.length) report('two parameters become one identifier')
    for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {})) {
      const { $ref, properties } = schema as Json
      if ($ref === undefined && properties !== undefined) report(`its body of ${type} has no name`)
    }
  }
  if (document.components.schemas.Response) wrong.push('a schema is called like the HTTP response')
  walk(document, '#', (value, at) => {
    const { type, anyOf, discriminator, const: constant, enum: choices } = value
    if (type === 'null' && !/\/(anyOf|oneOf)\/\d+$/.test(at)) wrong.push(`${at}: it is always null`)
    const isFixed = constant !== undefined || Array.isArray(choices)
    if (isFixed && type === undefined) wrong.push(`${at}: constants without a type`)
    if (discriminator !== undefined && anyOf !== undefined) wrong.push(`${at}: a discriminator beside anyOf`)
    const constants = Array.isArray(anyOf) ? (anyOf as Json[]).filter((each) => each.const !== undefined) : []
    if (constants.length > 1 && constants.length === (anyOf as Json[]).length) wrong.push(`${at}: anyOf of constants`)
    const shapes = Array.isArray(anyOf) ? (anyOf as Json[]).filter((each) => each.type !== 'null') : []
    if (shapes.length > 1 && shapes.some(isFreeForm)) wrong.push(`${at}: anyOf with an object of any members`)
  })
  return wrong
}

function isFreeForm({ type, properties, additionalProperties }: Json): boolean {
  const members = Object.keys(properties ?? {}).length
  return type === 'object' && members === 0 && Object.keys(additionalProperties ?? {}).length === 0
}

/** The value with every reference replaced by what it names. */
export function resolveRefs(document: ApiDocument, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => resolveRefs(document, item))
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = value as { $ref?: unknown }
  if (typeof $ref === 'string') return resolveRefs(document, lookUp(document, $ref))
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolveRefs(document, member)]))
}

/** The schema with no room for members that its objects do not name. */
export function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([name, member]) => [name, closed(member)]))
  const named = typeof inner.properties === 'object' && Object.keys(inner.properties ?? {}).length > 0
  return inner.type === 'object' && named ? { ...inner, additionalProperties: false } : inner
}

function checkOperation(
  document: ApiDocument,
  path: string,
  operation: Operation,
  report: (text: string) => void,
): void {
  const { parameters = [], tags, security, responses, requestBody } = operation
  const known = new Set(document.tags.map(({ name }) => name))
  for (const tag of tags) if (!known.has(tag)) report(`tag ${tag} is not declared`)
  for (const scheme of security.flatMap((each) => Object.keys(each))) {
    if (!document.components.securitySchemes[scheme]) report(`security scheme ${scheme} is not declared`)
  }
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const declared = parameters.filter((each) => each.in === 'path')
  if (inPath.join() !== declared.map(({ name }) => name).join()) report('its path parameters are not those it declares')
  if (declared.some(({ required }) => required !== true)) report('a path parameter is not required')
  for (const { name, in: place, schema, content } of parameters) {
    if (!['path', 'query', 'header', 'cookie'].includes(place)) report(`parameter ${name} is in ${place}`)
    if ((schema === undefined) === (content === undefined)) report(`parameter ${name} needs schema or content`)
    if (place === 'header' && /^(accept|content-type|authorization)$/i.test(name))
      report(`header ${name} is not a parameter`)
  }
  const keys = parameters.map(({ name, in: place }) => `${place} ${name}`)
  if (new Set(keys).size !== keys.length) report('a parameter is declared twice')
  if (requestBody && Object.keys(requestBody.content).length === 0) report('its body has no media type')
  if (Object.keys(responses).length === 0) report('it has no response')
  for (const [status, response] of Object.entries(responses)) {
    if (!/^([1-5]\d\d|[1-5]XX|default)$/.test(status)) report(`status ${status}`)
    const { description } = resolveRefs(document, response) as { description?: unknown }
    if (typeof description !== 'string') report(`response ${status} has no description`)
  }
}

/** Rules that hold anywhere: references lead somewhere, types exist, required members are declared, names are allowed. */
function checkPart(document: ApiDocument, value: Json, at: string, wrong: string[]): void {
  const { $ref, type, required, properties } = value
  if (typeof $ref === 'string' && lookUp(document, $ref) === undefined) wrong.push(`${at}: ${$ref} leads nowhere`)
  const isSchema = properties !== undefined && typeof type === 'string'
  for (const each of isSchema ? [type].flat() : []) if (!TYPES.has(each as string)) wrong.push(`${at}: type ${each}`)
  if (isSchema && Array.isArray(required)) {
    for (const name of required)
      if (!(name in (properties as Json))) wrong.push(`${at}: ${name} is required and not declared`)
  }
  if (at === '#/components/schemas') {
    for (const name of Object.keys(value)) if (!/^[\w.-]+$/.test(name)) wrong.push(`${at}: name ${name}`)
  }
}

function walk(value: unknown, at: string, visit: (value: Json, at: string) => void): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) visit(value as Json, at)
  for (const [name, member] of Object.entries(value)) walk(member, `${at}/${name}`, visit)
}

function lookUp(document: ApiDocument, ref: string): unknown {
  return ref
    .slice(2)
    .split('/')
    .reduce<unknown>((value, part) => (value as Json | undefined)?.[part], document)
}
