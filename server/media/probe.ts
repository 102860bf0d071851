/** What is known of a media file from its bytes. Filled by `probeFile`. */
export type ProbeResult = {
  kind: 'image' | 'video' | 'audio'
  /** Pixels after rotation; null for audio. */
  width: number | null
  height: number | null
  /** The longest track; null for images. */
  duration_seconds: number | null
  video_codec: string | null
  audio_codec: string | null
}
