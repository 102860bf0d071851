import { createHash } from 'node:crypto'
import type { ChatTool, ChatToolChoice } from '../../engines/chat/contract.ts'
import { ApiError } from '../../platform/errors.ts'
import { isLongJson } from '../../platform/json/write.ts'
import type { ContextItem } from '../schema/items.ts'
import type { CreateResponse } from '../schema/response.ts'
import {
  type CustomTool,
  type EchoedTool,
  type FunctionTool,
  type NamedTool,
  type SentTool,
  TEXTS_MAX,
  TOOLS_MAX,
  type ToolChoiceView,
} from '../schema/tools.ts'
import { isForwarded, isNamespace } from './check/tools.ts'

/** A tool by the client's names for it. */
export type ToolName = { name: string; namespace?: string | undefined }

/** The tool of the client that a call of a forwarded tool stands for. */
export type ToolOrigin = { name: string; namespace?: string; kind: 'function' | 'custom' }

export type ForwardedTools = {
  tools: ChatTool[]
  /** Absent when there are no tools. */
  tool_choice: ChatToolChoice | undefined
  /** Types of tools that were accepted and not forwarded, each once. */
  dropped: string[]
  /** By forwarded name. */
  names: ReadonlyMap<string, ToolOrigin>
  /** The forwarded name of a tool, also of one that only an earlier turn had. */
  nameOf(tool: ToolName): string
  echo: { tools: EchoedTool[]; tool_choice: ToolChoiceView }
}

/**
 * The tools that are sent to the model, all as functions, and the tools that the response shows. Tools outside of `allowed_tools` are left
 * out of both.
 * Throws ApiError 400 for a choice of a tool that is missing or not forwarded, and for `required` without any tool.
 * Source: contract 10.6.
 */
export function forwardTools({
  tools = [],
  tool_choice,
}: Pick<CreateResponse, 'tools' | 'tool_choice'>): ForwardedTools {
  const offered = uniquelyNamed(tools.flatMap(offersOf))
  const chosen = resolveChoice(offered, tool_choice)
  const names = new Map(chosen.offers.map(({ forwarded, origin }) => [forwarded, origin]))
  const known = new Map(offered.map(({ forwarded, origin }) => [keyOf(origin), forwarded]))
  const allowed = new Set(chosen.offers.map(({ tool }) => tool))
  return {
    tools: chosen.offers.map(({ tool, forwarded }) => ({ type: 'function', function: functionOf(tool, forwarded) })),
    tool_choice: chosen.offers.length === 0 ? undefined : chosen.tool_choice,
    dropped: droppedTypes(tools),
    names,
    nameOf: (tool) => known.get(keyOf(tool)) ?? forwardedName(tool),
    echo: { tools: echoOf(tools, allowed), tool_choice: chosen.echo },
  }
}

/** The body with the tools that the items of its context add. Of tools with one name the latest is kept. Throws ApiError 400. Source: contract 10.6. */
export function withAdditionalTools(body: CreateResponse, context: readonly ContextItem[]): CreateResponse {
  const added = context.flatMap(({ item }) => (item.type === 'additional_tools' ? item.tools : []))
  if (added.length === 0) return body
  const tools = latestTools([...(body.tools ?? []), ...added])
  if (tools.length > TOOLS_MAX || isLongJson(tools, TEXTS_MAX.tools)) {
    const text = `Too many tools: the request and its context have more than ${TOOLS_MAX}, or more than ${TEXTS_MAX.tools} characters of them. Begin a new conversation.`
    throw new ApiError('invalid_value', text, { param: 'tools' })
  }
  return { ...body, tools }
}

function latestTools(tools: readonly SentTool[]): SentTool[] {
  const known = new Set<string>()
  const isLatest = (tool: ToolName): boolean => {
    const key = keyOf(tool)
    return !known.has(key) && known.add(key) !== undefined
  }
  const latest = tools.toReversed().map((tool): SentTool | null => {
    if (isForwarded(tool)) return isLatest(tool) ? tool : null
    if (!isNamespace(tool)) return tool
    return { ...tool, tools: tool.tools.filter(({ name }) => isLatest({ name, namespace: tool.name })) }
  })
  return latest.filter((tool) => tool !== null).reverse()
}

type AnyTool = FunctionTool | CustomTool
type Offer = { tool: AnyTool; origin: ToolOrigin }
type NamedOffer = Offer & { forwarded: string }

function offersOf(tool: NonNullable<CreateResponse['tools']>[number]): Offer[] {
  if (isForwarded(tool)) return [{ tool, origin: { name: tool.name, kind: tool.type } }]
  if (!isNamespace(tool)) return []
  return tool.tools.map((inner) => ({
    tool: inner,
    origin: { name: inner.name, namespace: tool.name, kind: inner.type },
  }))
}

/** Tools without a namespace keep their names; a joined name that is already taken is hashed, whatever the order. */
function uniquelyNamed(offers: readonly Offer[]): NamedOffer[] {
  const plain = new Set(offers.filter(({ origin }) => origin.namespace === undefined).map(({ origin }) => origin.name))
  const taken = new Set(plain)
  return offers.map((offer) => {
    const { origin } = offer
    if (origin.namespace === undefined) return { ...offer, forwarded: origin.name }
    const joined = forwardedName(origin)
    const forwarded = taken.has(joined) ? hashedName(origin) : joined
    taken.add(forwarded)
    return { ...offer, forwarded }
  })
}

/** The names that model servers accept. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/
const NAME_LENGTH_MAX = 64

/** The name of a tool for the model: a function of its own names alone, so that calls of earlier turns keep theirs. */
function forwardedName({ name, namespace }: ToolName): string {
  const joined = namespace === undefined ? name : `${namespace}__${name}`
  return NAME.test(joined) ? joined : hashedName({ name, namespace })
}

/** A unique name for a tool whose joined name is too long, has characters that are not accepted, or is already another tool's. */
function hashedName({ name, namespace }: ToolName): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([namespace ?? null, name]))
    .digest('hex')
    .slice(0, 8)
  const joined = namespace === undefined ? name : `${namespace}__${name}`
  const plain = joined.replaceAll(/[^A-Za-z0-9_-]/gu, '_').slice(0, NAME_LENGTH_MAX - hash.length - 1)
  return `${plain}_${hash}`
}

function keyOf({ name, namespace }: ToolName): string {
  return JSON.stringify([namespace ?? null, name])
}

function functionOf(tool: AnyTool, name: string): ChatTool['function'] {
  if (tool.type === 'custom') return { name, ...describedCustom(tool), parameters: CUSTOM_PARAMETERS }
  const { description, parameters, strict } = tool
  return {
    name,
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
    ...(strict !== undefined && { strict }),
  }
}

/** A custom tool has one argument: its input. */
const CUSTOM_PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

/** Models that only have functions read the grammar in the description; nothing enforces it. */
function describedCustom({ description, format }: CustomTool): { description?: string } {
  const grammar =
    format?.type === 'grammar'
      ? `The input must match this grammar, written in ${format.syntax === 'lark' ? 'Lark' : 'the syntax of regular expressions'}:\n${format.definition}`
      : undefined
  const text = [description, grammar].filter((each) => each !== undefined && each !== '').join('\n\n')
  return text === '' ? {} : { description: text }
}

type Choice = { offers: readonly NamedOffer[]; tool_choice: ChatToolChoice; echo: ToolChoiceView }

function resolveChoice(offers: readonly NamedOffer[], choice: CreateResponse['tool_choice'] = 'auto'): Choice {
  if (typeof choice === 'string') {
    if (choice === 'required' && offers.length === 0) {
      refuse('tool_choice', "'tool_choice' is 'required', but there is no tool that the model could be given.")
    }
    return { offers, tool_choice: choice, echo: choice }
  }
  if (!('tools' in choice)) {
    const { origin, forwarded } = requireOffer(byName(offers), choice as NamedTool, 'tool_choice')
    const { kind, name, namespace } = origin
    const echo = { type: kind, name, ...(namespace !== undefined && { namespace }) }
    return { offers, tool_choice: { type: 'function', function: { name: forwarded } }, echo }
  }
  const { mode = 'auto', tools } = choice
  const named = byName(offers)
  const allowed = new Set(tools.map((tool, i) => requireOffer(named, tool, `tool_choice.tools[${i}]`)))
  return {
    offers: offers.filter((offer) => allowed.has(offer)),
    tool_choice: mode,
    echo: { type: 'allowed_tools', mode, tools: tools.map(namedOnly) },
  }
}

function namedOnly({ type, name, namespace }: NamedTool): NamedTool {
  return { type, name, ...(namespace !== undefined && { namespace }) }
}

type OffersByName = ReadonlyMap<string, readonly NamedOffer[]>

function byName(offers: readonly NamedOffer[]): OffersByName {
  const named = new Map<string, NamedOffer[]>()
  for (const offer of offers) {
    const key = `${offer.origin.kind} ${offer.origin.name}`
    const others = named.get(key)
    if (others) others.push(offer)
    else named.set(key, [offer])
  }
  return named
}

/** The tool that is named. A name without a namespace means the tool outside all namespaces, or else the only one of that name. */
function requireOffer(offers: OffersByName, wanted: NamedTool, path: string): NamedOffer {
  const { type, name, namespace } = wanted
  if (type !== 'function' && type !== 'custom') {
    refuse(`${path}.type`, `Tools of type '${type.slice(0, 64)}' are not given to the model, so none can be chosen.`)
  }
  if (name === undefined) {
    const param = `${path}.name`
    throw new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param })
  }
  const named = offers.get(`${type} ${name}`) ?? []
  const exact = named.find(({ origin }) => origin.namespace === namespace)
  const only = namespace === undefined && named.length === 1 ? named[0] : undefined
  return exact ?? only ?? refuse(`${path}.name`, `The tool '${name.slice(0, 64)}' is not among 'tools'.`)
}

/** For a header, so only types that are plain words are repeated. */
function droppedTypes(tools: NonNullable<CreateResponse['tools']>): string[] {
  const others = tools.filter((tool) => !isForwarded(tool) && !isNamespace(tool))
  return [...new Set(others.map(({ type }) => (/^[A-Za-z0-9_.-]{1,64}$/.test(type) ? type : 'unknown')))]
}

function echoOf(tools: NonNullable<CreateResponse['tools']>, allowed: ReadonlySet<AnyTool>): EchoedTool[] {
  return tools.flatMap((tool): EchoedTool[] => {
    if (isForwarded(tool)) return allowed.has(tool) ? [echoedTool(tool)] : []
    if (!isNamespace(tool)) return []
    const inner = tool.tools.filter((each) => allowed.has(each))
    if (inner.length === 0) return []
    const { name, description = null } = tool
    return [{ type: 'namespace', name, description, tools: inner.map(echoedTool) }]
  })
}

function echoedTool(tool: AnyTool) {
  const { type, name, description = null } = tool
  if (type === 'custom') return { type, name, description, format: tool.format ?? { type: 'text' as const } }
  return { type, name, description, parameters: tool.parameters ?? null, strict: tool.strict ?? null }
}

function refuse(param: string, message: string): never {
  throw new ApiError('invalid_value', message, { param })
}
