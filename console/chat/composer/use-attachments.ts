import { useEffect, useRef, useState } from 'react'
import { failureOf } from '../../api/failure.ts'
import { useText } from '../../text/use-text.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { type AttachmentKind, newMessageId, type PendingAttachment } from '../conversation/conversation.ts'
import { usePlayground } from '../playground/playground.ts'
import { accepts, attach, BYTES_MAX, kindOf } from './attach.ts'

/** Attaches files to the draft: refuses those that the model does not accept and uploads the rest. */
export function useAttachments() {
  const t = useText('chat')
  const { bytes } = useFormat()
  const { conversation, model, actions } = usePlayground()
  const [pending, setPending] = useState<readonly PendingAttachment[]>([])
  const [refused, setRefused] = useState<readonly string[]>([])
  const uploads = useRef(new Map<string, AbortController>())
  useEffect(() => () => uploads.current.forEach((upload) => void upload.abort()), [])

  const update = (id: string, changes: Partial<PendingAttachment>) =>
    setPending((now) => now.map((each) => (each.id === id ? { ...each, ...changes } : each)))
  const drop = (id: string) => {
    uploads.current.get(id)?.abort()
    uploads.current.delete(id)
    setPending((now) => now.filter((each) => each.id !== id))
  }

  const refusalOf = ({ name, size }: File, kind: AttachmentKind | null): string | null => {
    if (kind === null) return t('refused.kind', { name })
    if (!accepts(model, kind)) return t('refused.media', { model: model.name, what: t(`what.${kind}`), name })
    if (size === 0) return t('refused.empty', { name })
    return size > BYTES_MAX[kind] ? t('refused.size', { name, limit: bytes(BYTES_MAX[kind]) }) : null
  }
  const addFile = async (file: File) => {
    const { name, size } = file
    const kind = kindOf(file)
    const refusal = refusalOf(file, kind)
    if (kind === null || refusal !== null) return setRefused((now) => [...now, refusal ?? ''])
    const id = newMessageId()
    const upload = new AbortController()
    uploads.current.set(id, upload)
    setPending((now) => [...now, { id, kind, name, size_bytes: size, share: 0, failure: null }])
    try {
      const attachment = await attach(file, kind, {
        onProgress: (share) => update(id, { share }),
        signal: upload.signal,
      })
      actions.draft({ attachments: [...conversation.read().draft.attachments, attachment] })
      drop(id)
    } catch (error) {
      if (!upload.signal.aborted) update(id, { failure: failureOf(error) })
    }
  }
  return {
    pending,
    drop,
    /** Why files were refused, until the next ones are added. */
    refused,
    clearRefused: () => setRefused([]),
    addFiles(files: Iterable<File>) {
      setRefused([])
      for (const file of files) void addFile(file)
    },
  }
}
