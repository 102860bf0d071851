import { useState } from 'react'
import { useSite } from '../../api/queries.ts'
import { randomId } from '../../api/random-id.ts'
import { SNIPPET_LANGUAGES, type SnippetLanguage, snippet } from '../../api/snippets.ts'
import { useText } from '../../text/use-text.ts'
import { CodeBlock } from '../../ui/data/code.tsx'
import { Segmented } from '../../ui/form/choice.tsx'
import { Dialog } from '../../ui/overlay/dialog.tsx'
import { submittedRequest, type VideoJob } from '../jobs/job.ts'

/** The request of a job as a program. */
export function RequestCode({ job, onClose }: { job: VideoJob; onClose: () => void }) {
  const t = useText('videos')
  const { data: site } = useSite()
  const [language, setLanguage] = useState<SnippetLanguage>('curl')
  const body = submittedRequest(job)
  const base_url = site?.public_url ?? location.origin
  const [key] = useState(() => randomId())
  const headers = { 'Idempotency-Key': key }
  const code = snippet({ language, method: 'POST', path: '/v1/videos', base_url, body, headers })
  return (
    <Dialog
      open
      size="lg"
      onOpenChange={(open) => !open && onClose()}
      title={t('code_title')}
      description={t('code_description')}
    >
      <div className="flex min-w-0 flex-col gap-3">
        <Segmented
          className="self-start"
          label={t('code_language')}
          value={language}
          options={SNIPPET_LANGUAGES}
          onChange={setLanguage}
        />
        <CodeBlock code={code} label={t('code_title')} />
      </div>
    </Dialog>
  )
}
