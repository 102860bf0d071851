import { type ComfyuiOptions, comfyuiVideo } from '../../../../server/engines/video/comfyui/adapter.ts'

/** A workflow without weights that takes what the names say. */
export function workflowOf(
  ...files: string[]
): Record<string, { class_type: string; inputs: Record<string, unknown> }> {
  const loads = files.map((name) => [`load_${name}`, { class_type: 'LoadImage', inputs: { image: `{{${name}}}` } }])
  const links = files.map((name) => [name, [`load_${name}`, 0]])
  const size = { width: '{{width}}', height: '{{height}}', length: '{{frames}}', seed: '{{seed}}' }
  return {
    ...Object.fromEntries(loads),
    render: { class_type: 'Render', inputs: { prompt: '{{prompt}}', ...size, ...Object.fromEntries(links) } },
    create: { class_type: 'CreateVideo', inputs: { images: ['render', 0], fps: '{{fps}}' } },
    save: { class_type: 'SaveVideo', inputs: { video: ['create', 0], filename_prefix: 'kinora/{{seconds}}s' } },
  }
}

const FRAMES = workflowOf('first_frame', 'last_frame')
const WORKFLOWS: ComfyuiOptions['workflows'] = {
  text: FRAMES,
  first_frame: FRAMES,
  last_frame: FRAMES,
  both_frames: FRAMES,
  references: workflowOf('ref_image_1', 'ref_image_2', 'ref_video_1', 'ref_audio_1'),
}

export function openComfyui(base_url: string, more: Partial<ComfyuiOptions> = {}) {
  return comfyuiVideo({ kind: 'comfyui', base_url, api_key: 'secret-key', workflows: WORKFLOWS, ...more }, {})
}
