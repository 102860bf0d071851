import { createHash } from 'node:crypto'
import Type from 'typebox'
import { asRecord } from '../../../platform/json/record.ts'
import { type EngineClient, engineClient } from '../../../platform/outbound/client.ts'
import { BaseUrl } from '../../base-url.ts'
import type { EngineEnv, EntryMistake } from '../../engine-entry.ts'
import { EngineError } from '../../engine-error.ts'
import { unreadableReply } from '../../reply-error.ts'
import {
  CapabilityOptions,
  capabilityMistakes,
  type InputName,
  narrowCapabilities,
  type Protocol,
} from '../capabilities.ts'
import type {
  Capabilities,
  InputRole,
  RenderInput,
  RenderMode,
  RenderRequest,
  Ticket,
  VideoEngine,
} from '../contract.ts'
import { callEngine, send } from '../http/call.ts'
import { multipart } from '../http/multipart.ts'
import { rejectUnsupportedInput, renderMode } from '../reject-unsupported.ts'
import { openClip } from '../reply/open-clip.ts'
import { accepted } from '../reply/read.ts'
import { clipSize, frameCount, LENGTH_RULES } from './clip-size.ts'
import { historyState, nodeError, readOutputFile } from './history.ts'
import { fillWorkflow, type PlaceholderValues, type Workflow } from './placeholders.ts'
import { findRender, stopRender } from './queue.ts'
import { readWorkflow, referenceCount, workflowMistakes } from './workflow.ts'

const WorkflowSetting = Type.Optional(
  Type.Union([Type.String({ minLength: 1 }), Type.Record(Type.String(), Type.Unknown())], {
    errorMessage: 'must be the path of a workflow in the API format, or the workflow itself',
    description: 'A file in the API format of ComfyUI, relative to this file, or the workflow itself.',
  }),
)

/**
 * `workflows`: the operator's own, one for each mode that the model has. `fps` and `length_rule` decide how many frames a clip has,
 * `multiple_of` and `pixels_max` its size. `output_node`: the node whose video is taken, when several save one.
 */
export const ComfyuiOptions = Type.Object(
  {
    kind: Type.Literal('comfyui'),
    base_url: BaseUrl,
    api_key: Type.Optional(Type.String()),
    headers: Type.Optional(Type.Record(Type.String({ minLength: 1 }), Type.String())),
    workflows: Type.Object(
      {
        text: WorkflowSetting,
        first_frame: WorkflowSetting,
        last_frame: WorkflowSetting,
        both_frames: WorkflowSetting,
        references: WorkflowSetting,
      },
      { additionalProperties: false },
    ),
    output_node: Type.Optional(Type.String({ minLength: 1 })),
    seconds: CapabilityOptions.seconds,
    ratios: CapabilityOptions.ratios,
    fps: Type.Optional(Type.Number({ minimum: 1, maximum: 120 })),
    length_rule: Type.Optional(Type.Enum([...LENGTH_RULES])),
    multiple_of: Type.Optional(Type.Integer({ minimum: 1, maximum: 256 })),
    pixels_max: Type.Optional(Type.Integer({ minimum: 65_536 })),
    start_timeout_seconds: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
)
export type ComfyuiOptions = Type.Static<typeof ComfyuiOptions>

/**
 * A ComfyUI server with the operator's workflows. The id of a render is made from the attempt, so a start is repeated safely: what the
 * history or the queue has is not submitted again. Source: https://github.com/comfyanonymous/ComfyUI/blob/v0.3.57/server.py
 */
export function comfyuiVideo(options: ComfyuiOptions, { config_dir }: Pick<EngineEnv, 'config_dir'>): VideoEngine {
  const workflows = workflowsOf(readModes(options, config_dir))
  const capabilities: Capabilities = {
    ...narrowCapabilities(protocolOf(workflows), options),
    modes: new Set(workflows.keys()),
  }
  const { base_url, api_key, headers, output_node } = options
  const client = engineClient({
    base_url,
    reply_max_bytes: REPLY_BYTES_MAX,
    ...(api_key === undefined ? {} : { api_key }),
    ...(headers === undefined ? {} : { headers }),
  })
  const timeout_ms = (options.start_timeout_seconds ?? START_SECONDS) * 1000

  return {
    capabilities: () => capabilities,

    async start(request, signal) {
      rejectUnsupportedInput(request, capabilities)
      const prompt_id = promptId(request.attempt_id)
      if ((await findRender(client, prompt_id, signal)) !== null) return { prompt_id }
      const files = await uploadInputs(client, request, { prompt_id, timeout_ms }, signal)
      const values = new Map([...numbersOf(request, options), ...files])
      const prompt = fillWorkflow(workflows.get(renderMode(request))!, values)
      await submit(client, { prompt, prompt_id, client_id: 'kinora' }, timeout_ms, signal)
      return { prompt_id }
    },

    async poll(ticket, signal) {
      const place = await findRender(client, readTicket(ticket), signal)
      if (place === null) return { state: 'lost' }
      if (place.in === 'history') return historyState(place.entry, output_node)
      if (place.in === 'running') return { state: 'running' }
      return { state: 'running', next_poll_seconds: Math.min(POLL_SECONDS_MAX, POLL_SECONDS + place.ahead) }
    },

    async fetch(ticket, output, signal) {
      readTicket(ticket)
      const file = readOutputFile(output)
      if (file === null) throw new EngineError('permanent', 'Not an output of this engine.')
      return openClip(client, [{ path: `/view?${new URLSearchParams(file)}` }], {}, signal)
    },

    cancel: (ticket, signal = new AbortController().signal) => stopRender(client, readTicket(ticket), signal),
    close: () => client.close(),
  }
}

/** Workflows that cannot be read, or do not fit their mode, and options that contradict each other. */
export function comfyuiMistakes(
  options: ComfyuiOptions,
  { config_dir }: Pick<EngineEnv, 'config_dir'>,
): EntryMistake[] {
  const modes = readModes(options, config_dir)
  const mistakes = modes.flatMap((each) => {
    const found = 'mistake' in each ? [each.mistake] : workflowMistakes(each.workflow, each.mode, options.output_node)
    return found.map((message) => ({ path: `workflows.${each.mode}`, message }))
  })
  if (modes.length === 0) mistakes.push({ path: 'workflows', message: 'Needs a workflow for at least one mode.' })
  return [...mistakes, ...capabilityMistakes(options, protocolOf(workflowsOf(modes)), 'The workflow')]
}

const SECONDS = [4, 15] as const
const FPS = 24
const START_SECONDS = 300
/** Every item of the queue and the history holds its whole workflow. */
const REPLY_BYTES_MAX = 64 * 1024 * 1024
const POLL_SECONDS = 5
const POLL_SECONDS_MAX = 30

type ReadMode = { mode: RenderMode } & ({ workflow: Workflow } | { mistake: string })

function readModes({ workflows }: ComfyuiOptions, config_dir = '.'): ReadMode[] {
  const given = Object.entries(workflows).filter(([, setting]) => setting !== undefined)
  return given.map(([mode, setting]) => ({ mode: mode as RenderMode, ...readWorkflow(setting, config_dir) }))
}

function workflowsOf(modes: readonly ReadMode[]): Map<RenderMode, Workflow> {
  return new Map(modes.flatMap((each) => ('workflow' in each ? [[each.mode, each.workflow]] : [])))
}

/** What the workflows take: a mode each, and as many references as there are placeholders. */
function protocolOf(workflows: ReadonlyMap<RenderMode, Workflow>): Protocol {
  const references = workflows.get('references')
  const count = (kind: 'image' | 'video' | 'audio') => (references === undefined ? 0 : referenceCount(references, kind))
  const [images, videos, audio] = [count('image'), count('video'), count('audio')]
  const inputs: InputName[] = [
    ...(['first_frame', 'last_frame'] as const),
    ...(images > 0 ? (['reference_images'] as const) : []),
    ...(videos > 0 ? (['reference_videos'] as const) : []),
    ...(audio > 0 ? (['reference_audio'] as const) : []),
  ]
  return {
    inputs: new Set(inputs),
    seconds: SECONDS,
    references_max: { images, videos, audio, files: images + videos + audio },
    media: 'bytes',
    cancel: 'any',
    idempotency: 'client_id',
  }
}

/** Newer builds take only a UUID in its canonical form. */
function promptId(attempt_id: string): string {
  const hex = createHash('sha256').update(`kinora/${attempt_id}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function numbersOf(request: RenderRequest, options: ComfyuiOptions): PlaceholderValues {
  const { fps = FPS, length_rule = 'exact' } = options
  const { width, height } = clipSize(request, options)
  const { prompt, seconds, seed } = request
  const frames = frameCount(seconds, { fps, length_rule })
  return new Map(Object.entries({ prompt, width, height, frames, fps, seconds, seed }))
}

/** Uploads every input under a name of its attempt, so that a repeated start writes the same files; returns the names by placeholder. */
async function uploadInputs(
  client: EngineClient,
  { inputs }: RenderRequest,
  { prompt_id, timeout_ms }: { prompt_id: string; timeout_ms: number },
  signal: AbortSignal,
): Promise<PlaceholderValues> {
  const uploaded = new Map<string, string>()
  for (const input of inputs) {
    const name = placeholderOf(input.role, uploaded)
    const filename = `kinora-${prompt_id}-${name}.${extensionOf(input)}`
    const body = multipart([
      { name: 'image', file: input, filename },
      { name: 'type', text: 'input' },
      { name: 'overwrite', text: 'true' },
    ])
    const { json } = await callEngine(client, { method: 'POST', path: '/upload/image', body, timeout_ms }, signal)
    const { name: stored, subfolder } = asRecord(json) ?? {}
    if (typeof stored !== 'string') throw unreadableReply('it names no file')
    uploaded.set(name, typeof subfolder === 'string' && subfolder !== '' ? `${subfolder}/${stored}` : stored)
  }
  return uploaded
}

/** `first_frame`, or the next of `ref_image_1`, `ref_image_2` and so on. */
function placeholderOf(role: InputRole, taken: ReadonlyMap<string, string>): string {
  if (role === 'first_frame' || role === 'last_frame') return role
  const kind = role.replace('reference_', 'ref_')
  let n = 1
  while (taken.has(`${kind}_${n}`)) n += 1
  return `${kind}_${n}`
}

/** Nodes of ComfyUI know a file by its ending. */
function extensionOf({ media_type }: RenderInput): string {
  return EXTENSIONS[media_type] ?? media_type.replace(/^.*\/(x-)?/, '').replace(/[^a-z0-9]/g, '')
}

const EXTENSIONS: Record<string, string> = {
  'image/jpeg': 'jpg',
  'video/quicktime': 'mov',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
}

async function submit(
  client: EngineClient,
  json: { prompt: Workflow; prompt_id: string; client_id: string },
  timeout_ms: number,
  signal: AbortSignal,
): Promise<void> {
  const reply = await send(client, { method: 'POST', path: '/prompt', json, timeout_ms }, signal)
  const refused = reply.status === 400 ? nodeError(reply.json) : null
  if (refused !== null) throw refused
  accepted(reply, {})
  const { prompt_id } = asRecord(reply.json) ?? {}
  if (typeof prompt_id !== 'string') throw unreadableReply('it has no prompt_id')
  // With one output that is valid, ComfyUI accepts a workflow, and leaves out the others.
  const error = prompt_id === json.prompt_id ? nodeError(reply.json) : NO_PROMPT_ID
  if (error === null) return
  await stopRender(client, prompt_id, signal).catch(() => false)
  throw error
}

const NO_PROMPT_ID = new EngineError('permanent', 'This ComfyUI is too old: it does not take the id of a render.', {
  engine_code: 'no_prompt_id',
})

function readTicket(ticket: Ticket): string {
  const { prompt_id } = asRecord(ticket) ?? {}
  if (typeof prompt_id === 'string' && /^[0-9a-f-]{36}$/.test(prompt_id)) return prompt_id
  throw new EngineError('permanent', 'Not a ticket of this engine.')
}
