import { parseSync } from 'vite'
import { type Source, sourcesIn } from '../support/sources.ts'

type Node = { type: string; start: number } & Record<string, unknown>

/** Texts that a source of the console contains or looks up. */
export type TextUse = {
  /** Words written into the page itself, each with its place. */
  written: string[]
  /** Keys of one namespace, as patterns: `t(\`status.${x}\`)` asks for any key that begins so. */
  asked: Array<{ place: string; namespace: string | null; pattern: RegExp }>
}

/** Attributes that are shown or read aloud. */
const TEXT_ATTRIBUTES = /^(aria-label|aria-description|title|placeholder|alt|label|hint|description|text|\w+Label)$/

/** Reads every component and module of the console, its texts and tests left out. */
export function textUses(): TextUse {
  return usesIn(
    sourcesIn('console').filter(
      ({ path }) => !/^console\/(text|build|dist[^/]*)\/|\.test\.ts$|\.config\.ts$/.test(path),
    ),
  )
}

export function usesIn(sources: ReadonlyArray<Pick<Source, 'path' | 'text'>>): TextUse {
  const uses: TextUse = { written: [], asked: [] }
  for (const { path, text } of sources) {
    const { program } = parseSync(path, text)
    const place = (node: Node) => `${path}:${text.slice(0, node.start).split('\n').length}`
    walk(program as unknown as Node, new Map(), { uses, place, literals: literalsOf(program as unknown as Node) })
  }
  return uses
}

type Reading = { uses: TextUse; place: (node: Node) => string; literals: string[] }

/** `names` are the variables that `useText` gave, with their namespaces. */
function walk(node: Node, names: ReadonlyMap<string, string>, reading: Reading): void {
  const known = beginsScope(node) ? new Map([...names, ...textNamesOf(node)]) : names
  readWords(node, reading)
  if (node.type === 'CallExpression') readCall(node, known, reading)
  for (const child of childrenOf(node)) walk(child, known, reading)
}

function readWords(node: Node, { uses, place }: Reading): void {
  const words = (text: unknown) => typeof text === 'string' && /\p{L}{2,}/u.test(text)
  const report = (text: unknown) => uses.written.push(`${place(node)}: ${String(text).trim()}`)
  if (node.type === 'JSXText' && words(node.value)) report(node.value)
  if (node.type === 'JSXAttribute') {
    const name = (node.name as Node).name as string
    const value = node.value as Node | null
    if (TEXT_ATTRIBUTES.test(name) && value?.type === 'Literal' && words(value.value)) report(value.value)
  }
  if (node.type === 'JSXElement' || node.type === 'JSXFragment') {
    for (const child of node.children as Node[]) {
      const inside = child.type === 'JSXExpressionContainer' ? (child.expression as Node) : null
      if (inside?.type === 'Literal' && words(inside.value)) report(inside.value)
    }
  }
}

function readCall(node: Node, names: ReadonlyMap<string, string>, { uses, place, literals }: Reading): void {
  const callee = node.callee as Node
  const name = callee.type === 'Identifier' ? (callee.name as string) : ''
  const namespace = names.get(name) ?? null
  // Functions that are given the texts call them `t` too.
  if (namespace === null && name !== 't') return
  const [key] = node.arguments as Node[]
  const patterns = key ? patternsOf(key) : null
  const found = patterns ?? literals.map((text) => exactly(text))
  for (const pattern of found) uses.asked.push({ place: patterns ? place(node) : '', namespace, pattern })
}

/** null when the key comes from somewhere else: then any literal of the file may be it. */
function patternsOf(key: Node): RegExp[] | null {
  if (key.type === 'Literal') return [exactly(String(key.value))]
  if (key.type === 'TemplateLiteral') {
    const parts = (key.quasis as Array<{ value: { cooked: string } }>).map(({ value }) => escaped(value.cooked))
    return [new RegExp(`^${parts.join('.+')}(_\\w+)?$`)]
  }
  if (key.type === 'ConditionalExpression') {
    const sides = [key.consequent, key.alternate].map((side) => patternsOf(side as Node))
    return sides.some((side) => side === null) ? null : sides.flatMap((side) => side!)
  }
  return null
}

/** With the endings for number. */
function exactly(key: string): RegExp {
  return new RegExp(`^${escaped(key)}(_(zero|one|two|few|many|other))?$`)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function beginsScope({ type }: Node): boolean {
  return /^(Program|FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type)
}

/** Variables of this function, not of those inside it, that hold `useText('namespace')`. */
function textNamesOf(scope: Node): Array<[string, string]> {
  const found: Array<[string, string]> = []
  const visit = (node: Node) => {
    if (node.type === 'VariableDeclarator') {
      const init = node.init as Node | null
      const [namespace] = init?.type === 'CallExpression' ? (init.arguments as Node[]) : []
      const isTexts = init?.type === 'CallExpression' && (init.callee as Node).name === 'useText'
      if (isTexts && namespace) found.push([(node.id as Node).name as string, String(namespace.value)])
    }
    for (const child of childrenOf(node)) if (!beginsScope(child)) visit(child)
  }
  visit(scope)
  return found
}

function literalsOf(program: Node): string[] {
  const found = new Set<string>()
  const visit = (node: Node) => {
    if (node.type === 'Literal' && typeof node.value === 'string') found.add(node.value)
    for (const child of childrenOf(node)) visit(child)
  }
  visit(program)
  return [...found]
}

function childrenOf(node: Node): Node[] {
  return Object.values(node).flatMap((value) => {
    const list = Array.isArray(value) ? value : [value]
    return list.filter((each): each is Node => typeof each === 'object' && each !== null && 'type' in each)
  })
}
