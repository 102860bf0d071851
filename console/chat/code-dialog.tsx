import { useMemo, useState } from 'react'
import { useSite } from '../api/queries.ts'
import { SNIPPET_LANGUAGES, type SnippetLanguage } from '../api/snippets.ts'
import { useText } from '../text/use-text.ts'
import { ButtonLink } from '../ui/button.tsx'
import { CodeBlock } from '../ui/data/code.tsx'
import { Tabs } from '../ui/data/tabs.tsx'
import { Note } from '../ui/failure-note.tsx'
import { Dialog } from '../ui/overlay/dialog.tsx'
import { openCalls } from './conversation/conversation.ts'
import { withDraftSent } from './playground/actions.ts'
import { usePlayground } from './playground/playground.ts'
import { bodyOf } from './request/body.ts'
import { responseProgram } from './request/program.ts'

/** The request that Send would make, as a program; none while a tool call has no result, since the service would refuse it. */
export function CodeDialog({ onClose }: { onClose: () => void }) {
  const t = useText('chat')
  const { conversation, model } = usePlayground()
  const base_url = useSite().data?.public_url ?? window.location.origin
  const [language, setLanguage] = useState<SnippetLanguage>('curl')
  const body = useMemo(() => {
    const now = conversation.read()
    const { text, attachments } = now.draft
    const drafted = text.trim() !== '' || attachments.length > 0
    return openCalls(now.messages).length > 0 ? null : bodyOf(drafted ? { ...now, ...withDraftSent(now) } : now, model)
  }, [conversation, model])
  const tabs = SNIPPET_LANGUAGES.map(({ value, label }) => ({
    value,
    label,
    panel: value === language && body && <CodeBlock code={responseProgram(value, base_url, body)} label={label} />,
  }))
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      size="lg"
      title={t('code_title')}
      description={t('code_description')}
      actions={
        <ButtonLink to="/keys" size="sm">
          {t('create_key')}
        </ButtonLink>
      }
    >
      {body ? (
        <Tabs label={t('code_language')} value={language} onChange={setLanguage} tabs={tabs} />
      ) : (
        <Note tone="warning">{t('blocked.calls')}</Note>
      )}
    </Dialog>
  )
}
