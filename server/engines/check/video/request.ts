import type { InputRole, RenderInput, RenderMode, RenderRequest, VideoEngine } from '../../video/contract.ts'

export const RENDER_MODES: readonly RenderMode[] = ['text', 'first_frame', 'last_frame', 'both_frames', 'references']

/** The shortest clip the engine takes, of a prompt with dialogue, in the first of its ratios or 16:9. */
export function requestFor(engine: VideoEngine, model: string, inputs: RenderInput[] = []): RenderRequest {
  const prompt = 'A cat waves. <d>こんにちは、世界</d>'
  const id = `${Date.now()}${Math.random().toString(36).slice(2)}`
  const { seconds, aspect_ratios } = engine.capabilities(model)
  const wide = aspect_ratios.has('16:9')
  const [aspect_ratio = 'Auto'] = wide ? (['16:9'] as const) : aspect_ratios
  return {
    job_id: `video_${id}`,
    attempt_id: `attempt_${id}`,
    model,
    prompt,
    original_prompt: prompt,
    seconds: Math.max(seconds[0], Math.min(SECONDS_MIN, seconds[1])),
    aspect_ratio,
    ...(SIZES[aspect_ratio] ?? { width: 1366, height: 768 }),
    seed: 7,
    inputs,
  }
}

/** The shortest clip a client can ask for. Source: docs/contract.md 5.1. */
const SECONDS_MIN = 4

const SIZES: Partial<Record<RenderRequest['aspect_ratio'], { width: number; height: number }>> = {
  '1:1': { width: 768, height: 768 },
  '9:16': { width: 768, height: 1366 },
  '3:4': { width: 768, height: 1024 },
  '4:3': { width: 1024, height: 768 },
  '21:9': { width: 1792, height: 768 },
}

/** A small real picture in a role; `part` of its bytes when it is to be a broken one. */
export async function picture(role: InputRole, part = 1): Promise<RenderInput> {
  // Not at the start: it brings a native library.
  const { default: sharp } = await import('sharp')
  const create = { width: 320, height: 320, channels: 3 as const, background: '#2a9d8f' }
  const whole = await sharp({ create }).png({ compressionLevel: 0 }).toBuffer()
  const bytes = whole.subarray(0, Math.ceil(whole.length * part))
  return {
    role,
    media_type: 'image/png',
    size_bytes: bytes.length,
    probe: { kind: 'image', width: 320, height: 320, duration_seconds: null, video_codec: null, audio_codec: null },
    open: async () => new Blob([new Uint8Array(bytes)]).stream(),
    signedUrl: async (ttl = 900) => `https://kinora.example/files/file_1?ttl=${ttl}`,
  }
}

/** The least that makes a request of this mode. */
export async function inputsOf(mode: RenderMode): Promise<RenderInput[]> {
  if (mode === 'text') return []
  if (mode === 'references') return [await picture('reference_image')]
  if (mode === 'both_frames') return [await picture('last_frame'), await picture('first_frame')]
  return [await picture(mode)]
}
