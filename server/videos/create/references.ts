import type { Capabilities, InputRole, RenderMode } from '../../engines/video/contract.ts'
import { type EnginePool, poolCapabilities } from '../../engines/video/pool.ts'
import type { Purpose } from '../../files/purposes.ts'
import { type FileRow, findFiles, sentFile } from '../../files/store/files.ts'
import type { Db } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { JobInput } from '../job.ts'
import type { CreateVideo } from '../schema.ts'

/** The requirements on a file in each role. Source: contract 5.1; the sizes are 30, 30, 50 and 15 MiB. */
const RULES: Record<InputRole, { purpose: Purpose; size_bytes_max: number }> = {
  // "Under 30 MiB" for frames, "at most" for the others.
  first_frame: { purpose: 'vision', size_bytes_max: 31_457_279 },
  last_frame: { purpose: 'vision', size_bytes_max: 31_457_279 },
  reference_image: { purpose: 'vision', size_bytes_max: 31_457_280 },
  reference_video: { purpose: 'video', size_bytes_max: 52_428_800 },
  reference_audio: { purpose: 'audio', size_bytes_max: 15_728_640 },
}

type Named = { role: InputRole; file_id: string; param: string }

/** The rules between members of the body that a schema cannot express. Throws ApiError 400 with the member as `param`. */
export function requireConsistentReferences(body: CreateVideo): void {
  const { image_reference, references } = body
  if (image_reference && references) {
    throw new ApiError('invalid_value', "Send either 'image_reference' or 'references', not both.", {
      param: 'references',
    })
  }
  const roles = image_reference?.map(({ role }) => role) ?? []
  if (new Set(roles).size < roles.length) {
    throw new ApiError(
      'invalid_value',
      `The role '${roles[1]}' is used twice. Use 'first_frame' and 'last_frame' once each.`,
      {
        param: 'image_reference[1].role',
      },
    )
  }
  if (references && !references.images?.length && !references.videos?.length) {
    throw new ApiError('invalid_value', "'references' needs at least one image or video.", { param: 'references' })
  }
  const seen = new Set<string>()
  // One picture may be both frames: a clip that loops.
  for (const { file_id, param } of references ? namedFiles(body) : []) {
    if (seen.has(file_id))
      throw new ApiError('invalid_value', `The file '${file_id}' is used twice. Name each file once.`, { param })
    seen.add(file_id)
  }
}

/**
 * Rejects what none of the model's engines can do, instead of accepting a job that must fail. Throws ApiError 400 with the field as
 * `param`.
 */
export function requireCapable(body: CreateVideo, pool: Pick<EnginePool, 'members'>): void {
  const refusals = pool.members.map(({ engine, model }) => refusalOf(body, engine.capabilities(model)))
  if (refusals.includes(null)) return
  // What all of them together cannot do says more than what one of them cannot.
  const { param, what } = refusalOf(body, poolCapabilities(pool)) ?? refusals[0]!
  throw new ApiError(
    'unsupported_value',
    `The model '${body.model}' cannot take ${what}. Choose another model or leave it out.`,
    { param },
  )
}

/** The field that an engine cannot serve, and what it asks for; null when it can serve all of them. */
function refusalOf(body: CreateVideo, can: Capabilities): { param: string; what: string } | null {
  const [shortest, longest] = can.seconds
  if (body.seconds < shortest || body.seconds > longest)
    return { param: 'seconds', what: `${body.seconds} seconds, only ${shortest} to ${longest}` }
  const ratio = body.aspect_ratio
  if (ratio === 'Auto' ? !can.auto_aspect_ratio : !can.aspect_ratios.has(ratio))
    return { param: 'aspect_ratio', what: `the aspect ratio ${ratio}` }
  const mode = modeOf(body)
  if (mode !== 'references') {
    if (!can.modes.has(mode))
      return { param: body.image_reference ? 'image_reference' : 'prompt', what: MODE_NAMES[mode] }
    return null
  }
  const { images = [], videos = [], audio = [] } = body.references ?? {}
  if (!can.modes.has('references')) return { param: 'references', what: MODE_NAMES.references }
  const max = can.references_max
  if (images.length > max.images)
    return { param: 'references.images', what: `${images.length} reference images, at most ${max.images}` }
  if (videos.length > max.videos)
    return { param: 'references.videos', what: `${videos.length} reference videos, at most ${max.videos}` }
  if (audio.length > max.audio)
    return { param: 'references.audio', what: `${audio.length} reference sounds, at most ${max.audio}` }
  const all = images.length + videos.length + audio.length
  if (all > max.files) return { param: 'references', what: `${all} references together, at most ${max.files}` }
  return null
}

/** Finds every file the body names, in one query, and checks purpose and size. Throws ApiError 400 whose `param` names the `file_id`. */
export async function findReferencedFiles(db: Db, org_id: string, body: CreateVideo, now: Date): Promise<JobInput[]> {
  const named = namedFiles(body)
  if (named.length === 0) return []
  const files = await findFiles(db, { org_id, ids: named.map(({ file_id }) => file_id), now })
  return named.map(({ role, file_id, param }) => {
    const file = files.get(file_id)
    if (!file) {
      const text = `The file '${file_id}' does not exist, has expired, or belongs to another organization. Upload it with POST /v1/files.`
      throw new ApiError('invalid_file', text, { param })
    }
    requireFit(file, role, param)
    return { role, file_id, sha256: sentFile(file).sha256 }
  })
}

const MODE_NAMES: Record<RenderMode, string> = {
  text: 'a prompt alone',
  first_frame: 'a first frame alone',
  last_frame: 'a last frame alone',
  both_frames: 'both a first and a last frame',
  references: 'references',
}

function modeOf(body: CreateVideo): RenderMode {
  if (body.references) return 'references'
  const roles = body.image_reference?.map(({ role }) => role) ?? []
  if (roles.length === 2) return 'both_frames'
  return roles[0] ?? 'text'
}

function requireFit(file: FileRow, role: InputRole, param: string): void {
  const { purpose, size_bytes_max } = RULES[role]
  if (file.purpose !== purpose) {
    const text = `The file '${file.id}' was uploaded with purpose '${file.purpose}'; here it must be '${purpose}'. Upload it again with that purpose.`
    throw new ApiError('invalid_file_purpose', text, { param })
  }
  const { size_bytes } = sentFile(file)
  if (size_bytes > size_bytes_max) {
    const text = `The file '${file.id}' has ${size_bytes} bytes; here at most ${size_bytes_max} are allowed.`
    throw new ApiError('invalid_file', text, { param })
  }
}

/** In the order in which a job has them. `param`: where the body names the file. */
export function namedFiles({ image_reference = [], references = {} }: CreateVideo): Named[] {
  const list = (items: Array<{ file_id: string }> | undefined, role: InputRole, path: string): Named[] =>
    (items ?? []).map(({ file_id }, i) => ({ role, file_id, param: `${path}[${i}].file_id` }))
  return [
    ...image_reference.map(({ file_id, role }, i) => ({ role, file_id, param: `image_reference[${i}].file_id` })),
    ...list(references.images, 'reference_image', 'references.images'),
    ...list(references.videos, 'reference_video', 'references.videos'),
    ...list(references.audio, 'reference_audio', 'references.audio'),
  ]
}
