import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isRecord } from '../../../platform/json/record.ts'
import type { RenderMode } from '../contract.ts'
import { isKnownName, isLink, pruneWorkflow, type Workflow, workflowPlaceholders } from './placeholders.ts'

/** Reads one `workflows` option: a file by its path, relative to `config_dir`, or the workflow itself. */
export function readWorkflow(setting: unknown, config_dir: string): { workflow: Workflow } | { mistake: string } {
  if (typeof setting !== 'string') return asWorkflow(setting)
  const path = resolve(config_dir, setting)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    return { mistake: `The file ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).` }
  }
  try {
    return asWorkflow(JSON.parse(text.replace(/^\ufeff/, '')))
  } catch {
    return { mistake: `The file ${path} is not valid JSON.` }
  }
}

/** What is wrong with a workflow as the workflow of its mode. */
export function workflowMistakes(workflow: Workflow, mode: RenderMode, output_node: string | undefined): string[] {
  const names = new Set(namesIn(workflow))
  const mistakes = [...names]
    .filter((name) => !isKnownName(name))
    .map((name) => `{{${name}}} is not a placeholder of Kinora.`)
  const missing = REQUIRED[mode].filter((name) => !names.has(name))
  mistakes.push(...missing.map((name) => `The mode ${mode} needs the placeholder {{${name}}}.`))
  if (mode === 'references' && !names.has('ref_image_1') && !names.has('ref_video_1'))
    mistakes.push('The mode references needs the placeholder {{ref_image_1}} or {{ref_video_1}}.')
  for (const kind of ['image', 'video', 'audio'] as const) {
    const count = referenceCount(workflow, kind)
    const later = [...names].find((name) => name.startsWith(`ref_${kind}_`) && Number(name.split('_')[2]) > count)
    if (later !== undefined) mistakes.push(`{{${later}}} needs {{ref_${kind}_${count + 1}}} too.`)
  }
  return mistakes.length > 0 ? mistakes : outputMistakes(workflow, mode, output_node)
}

/** How many references of a kind a workflow takes: as many as have placeholders, counted from 1. */
export function referenceCount(workflow: Workflow, kind: 'image' | 'video' | 'audio'): number {
  const names = new Set(namesIn(workflow))
  let count = 0
  while (names.has(`ref_${kind}_${count + 1}`)) count += 1
  return count
}

const REQUIRED: Record<RenderMode, readonly string[]> = {
  text: ['prompt'],
  first_frame: ['prompt', 'first_frame'],
  last_frame: ['prompt', 'last_frame'],
  both_frames: ['prompt', 'first_frame', 'last_frame'],
  references: ['prompt'],
}

/** With the fewest inputs of its mode, the nodes that save a clip must be left. */
function outputMistakes(workflow: Workflow, mode: RenderMode, output_node: string | undefined): string[] {
  const names = namesIn(workflow)
  const single = ['ref_image_1', 'ref_video_1'].filter((name) => names.includes(name)).map((name) => [name])
  const fewest = mode === 'references' ? single : [REQUIRED[mode]]
  return fewest.flatMap((given) => {
    const left = pruneWorkflow(workflow, (name) => given.includes(name))
    const when = mode === 'references' ? ` when {{${given[0]}}} is the only reference` : ''
    if (output_node !== undefined && !(output_node in left)) return [`Has no node ${output_node} (output_node)${when}.`]
    return Object.keys(left).length === 0 ? [`No node is left${when}.`] : []
  })
}

function namesIn(workflow: Workflow): string[] {
  return Object.values(workflow).flatMap(({ inputs }) => workflowPlaceholders(inputs))
}

function asWorkflow(value: unknown): { workflow: Workflow } | { mistake: string } {
  if (!isRecord(value)) return { mistake: 'Must be a map of nodes.' }
  if (Array.isArray(value.nodes) || Array.isArray(value.links)) return { mistake: EDITOR_FORMAT }
  const wrong = Object.entries(value).find(([, node]) => !isNode(node))
  if (wrong !== undefined || Object.keys(value).length === 0) return { mistake: NOT_API_FORMAT }
  const workflow = value as Workflow
  const broken = Object.entries(workflow).find(([, { inputs }]) =>
    Object.values(inputs).some((input) => isLink(input) && !(input[0] in workflow)),
  )
  if (broken !== undefined) return { mistake: `Node ${broken[0]} has a link to a node that does not exist.` }
  return { workflow }
}

const EXPORT = 'in ComfyUI, choose Workflow, then Export (API), and use that file'
const EDITOR_FORMAT = `Is in the format of ComfyUI's editor: ${EXPORT}.`
const NOT_API_FORMAT = `Is not in ComfyUI's API format, in which every node has class_type and inputs: ${EXPORT}.`

function isNode(node: unknown): boolean {
  return isRecord(node) && typeof node.class_type === 'string' && isRecord(node.inputs)
}
