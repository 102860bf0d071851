import type { Context } from '../context.ts'
import type { ChatPart } from '../engines/chat.ts'
import { ApiError } from '../platform/errors.ts'
import { mismatch } from './check.ts'
import type { Conversation } from './messages.ts'
import type { BodyPart } from './schema.ts'

/** One part of a user's message as the engine is given it; a PDF becomes several. Throws ApiError 400. */
export async function resolvePart(
  _ctx: Context,
  { model }: Conversation,
  { part, param }: { part: BodyPart; param: string },
  _left: AbortSignal,
): Promise<ChatPart[]> {
  const needs = (capability: 'vision' | 'video' | 'audio', what: string) => {
    if (!model.capabilities.includes(capability)) throw mismatch(model.id, `${param}.type`, what)
  }
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'image_url':
      needs('vision', 'images')
      return [{ type: 'image_url', image_url: { url: part.image_url.url, detail: part.image_url.detail } }]
    case 'video_url':
      needs('video', 'video')
      return [{ type: 'video_url', video_url: { url: part.video_url.url } }]
    case 'audio_url':
      needs('audio', 'sound')
      return [{ type: 'audio_url', audio_url: { url: part.audio_url.url } }]
    case 'input_audio':
      needs('audio', 'sound')
      return [{ type: 'input_audio', input_audio: { data: part.input_audio.data, format: part.input_audio.format } }]
    case 'file':
      throw new ApiError('invalid_file', 'Files are not taken here yet.', { param: `${param}.file` })
  }
}
