import type { ChatModel } from '../../api/chat-models.ts'
import type { AttachmentKind } from '../conversation/conversation.ts'

/** What a model must be able to take for a kind of file; null for texts, which any model takes. */
const NEEDED = {
  image: 'vision',
  pdf: 'vision',
  video: 'video',
  audio: 'audio',
  text: null,
} as const satisfies Record<AttachmentKind, string | null>

export function takes(model: ChatModel, kind: AttachmentKind): boolean {
  const needed = NEEDED[kind]
  return needed === null || model.capabilities.includes(needed)
}
