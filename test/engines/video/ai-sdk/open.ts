import { type AiSdkVideoOptions, aiSdkVideo } from '../../../../server/engines/video/ai-sdk/adapter.ts'
import type { VideoEngine } from '../../../../server/engines/video/contract.ts'

type Options = Partial<AiSdkVideoOptions>

/** Veo through Google's own package, on the engine server. */
export function veo(url: string, more: Options = {}): VideoEngine {
  const options = {
    kind: 'ai-sdk',
    package: '@ai-sdk/google',
    base_url: `${url}/v1beta`,
    api_key: 'secret-key',
  } as const
  return aiSdkVideo({ ...options, seconds: [4, 8], inputs: ['first_frame', 'last_frame', 'reference_images'], ...more })
}

/** MiniMax through its own package, on the engine server. */
export function minimax(url: string, more: Options = {}): VideoEngine {
  const options = { kind: 'ai-sdk', package: '@ai-sdk/minimax', base_url: url, api_key: 'secret-key' } as const
  const settings = { videoBaseURL: url }
  return aiSdkVideo({
    ...options,
    settings,
    ratio_with_frames: false,
    inputs: ['first_frame', 'reference_images', 'reference_videos'],
    ...more,
  })
}

export const live = () => new AbortController().signal
