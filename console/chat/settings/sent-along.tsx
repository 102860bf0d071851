import { useText } from '../../text/use-text.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { useConversation } from '../conversation/open-conversation.ts'
import { usePlayground } from '../playground/playground.ts'
import { changedParameters } from './settings-form.tsx'

const SYSTEM_CHARACTERS = 40

/** Where the settings are not beside the conversation: what goes with each message besides the files, and the way to it. Nothing for nothing. */
export function SentAlong({ onOpen }: { onOpen: () => void }) {
  const t = useText('chat')
  const { list } = useFormat()
  const { conversation } = usePlayground()
  const settings = useConversation(conversation, (now) => now.settings)
  const system = settings.system.trim()
  const parts = [
    ...(system === '' ? [] : [t('sent_system', { text: system.slice(0, SYSTEM_CHARACTERS) })]),
    ...(settings.tools.trim() === '' ? [] : [t('tools')]),
    ...changedParameters(settings).map((field) => t(`parameter.${field}`)),
  ]
  if (parts.length === 0) return null
  return (
    <button
      type="button"
      onClick={onOpen}
      className="mt-1 line-clamp-2 w-full rounded-md py-1 text-start text-[0.8125rem] [overflow-wrap:anywhere] text-muted hover:text-ink wide:hidden pointer-coarse:min-h-11"
    >
      {t('sent_along', { parts: list(parts) })}
    </button>
  )
}
