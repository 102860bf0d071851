import { isRecord } from '../../../platform/json/record.ts'
import type { JsonValue } from '../contract.ts'

export type WorkflowNode = { class_type: string; inputs: Record<string, JsonValue> }

/** A workflow in ComfyUI's API format, by the ids of its nodes. */
export type Workflow = Record<string, WorkflowNode>

/** What stands for a placeholder: numbers and the prompt, and the names under which files were uploaded. */
export type PlaceholderValues = ReadonlyMap<string, string | number>

/**
 * The workflow for one render: without what its absent files would have fed, then with every placeholder replaced. Text that is exactly
 * one placeholder takes the type of the value. Values are not searched for placeholders, so a prompt arrives byte for byte.
 */
export function fillWorkflow(workflow: Workflow, values: PlaceholderValues): Workflow {
  const pruned = pruneWorkflow(workflow, (name) => values.has(name))
  return mapNodes(pruned, ([, node]) => ({ ...node, inputs: filled(node.inputs, values) as WorkflowNode['inputs'] }))
}

/**
 * Removes the nodes with the placeholder of a file that is absent, every link to a removed node, and in turn each node that has lost its
 * last link: what prepares an absent picture goes with it, and a node that takes it as an optional input stays without that input.
 */
export function pruneWorkflow(workflow: Workflow, isPresent: (name: string) => boolean): Workflow {
  const isAbsent = (name: string) => isFileName(name) && !isPresent(name)
  let removed = idsWhere(workflow, ({ inputs }) => workflowPlaceholders(inputs).some(isAbsent))
  let left = workflow
  while (removed.size > 0) {
    const before = left
    const gone = removed
    const kept = Object.entries(before).filter(([id]) => !gone.has(id))
    left = mapNodes(Object.fromEntries(kept), ([, node]) => ({
      ...node,
      inputs: Object.fromEntries(
        Object.entries(node.inputs).filter(([, input]) => !(isLink(input) && gone.has(input[0]))),
      ),
    }))
    removed = idsWhere(left, (node, id) => linkCount(node) === 0 && linkCount(before[id]!) > 0)
  }
  return left
}

/** The names of all placeholders in a value, known or not. */
export function workflowPlaceholders(value: JsonValue): string[] {
  if (typeof value === 'string') return [...value.matchAll(PLACEHOLDER)].map(([, name]) => name!)
  if (Array.isArray(value)) return value.flatMap(workflowPlaceholders)
  return isRecord(value) ? Object.values(value).flatMap((member) => workflowPlaceholders(member as JsonValue)) : []
}

export function isKnownName(name: string): boolean {
  return VALUE_NAMES.has(name) || isFileName(name)
}

function isFileName(name: string): boolean {
  return /^(first_frame|last_frame|ref_(image|video|audio)_[1-9]\d?)$/.test(name)
}

/** A link is the id of a node and the number of its output. */
export function isLink(input: JsonValue): input is [string, number] {
  return Array.isArray(input) && input.length === 2 && typeof input[0] === 'string' && Number.isInteger(input[1])
}

const VALUE_NAMES: ReadonlySet<string> = new Set([...['prompt', 'width', 'height', 'frames', 'fps', 'seconds', 'seed']])
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g
const WHOLE_PLACEHOLDER = /^\{\{([^{}]*)\}\}$/

function filled(value: JsonValue, values: PlaceholderValues): JsonValue {
  if (typeof value === 'string') {
    const whole = WHOLE_PLACEHOLDER.exec(value)?.[1]
    if (whole !== undefined) return values.get(whole)!
    return value.replace(PLACEHOLDER, (_, name: string) => String(values.get(name)))
  }
  if (Array.isArray(value)) return value.map((item) => filled(item, values))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member as JsonValue, values)]))
}

function idsWhere(workflow: Workflow, isWanted: (node: WorkflowNode, id: string) => boolean): Set<string> {
  return new Set(Object.keys(workflow).filter((id) => isWanted(workflow[id]!, id)))
}

function linkCount({ inputs }: WorkflowNode): number {
  return Object.values(inputs).filter(isLink).length
}

function mapNodes(workflow: Workflow, change: (entry: [string, WorkflowNode]) => WorkflowNode): Workflow {
  return Object.fromEntries(Object.entries(workflow).map(([id, node]) => [id, change([id, node])]))
}
