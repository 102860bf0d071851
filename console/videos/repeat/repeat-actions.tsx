import { Copy } from 'lucide-react'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { useUseAgain } from '../job/use-again.ts'
import type { VideoJob } from '../jobs/job.ts'

/** How many clips a person who varies one is offered; more or fewer are a click away. */
const VARIATIONS = 3

/** What makes the next clip from one that has ended. */
export function RepeatActions({ job }: { job: VideoJob }) {
  const t = useText('repeat')
  const fillForm = useUseAgain()
  return (
    // biome-ignore lint/a11y/useSemanticElements: no form, and no legend is shown.
    <div role="group" aria-label={t('next')} className="flex flex-wrap gap-2">
      <Button icon={<Copy />} title={t('vary_hint')} onClick={() => void fillForm(job, VARIATIONS)}>
        {t('vary')}
      </Button>
    </div>
  )
}
