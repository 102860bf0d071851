import { ArrowUpLeft, Clapperboard } from 'lucide-react'
import { useSite } from '../../api/queries.ts'
import { useText } from '../../text/use-text.ts'
import { EmptyState } from '../../ui/layout.tsx'
import { readCurrentDraft, replaceDraft } from '../draft/draft-store.ts'
import { focusPrompt } from '../draft/prompt-area.ts'

const EXAMPLES = ['boat', 'diner', 'runner'] as const

/** The empty gallery: three example prompts that fill the form. */
export function Examples() {
  const t = useText('videos')
  const { data: site } = useSite()
  const promptOf = (example: (typeof EXAMPLES)[number]) =>
    t(`examples.${example}.${site?.translates ? 'prompt' : 'prompt_in_english'}`)
  const take = (prompt: string) => {
    replaceDraft({ ...readCurrentDraft(), prompt, mode: 'text', is_sent: false, continues: null, made_from: null })
    focusPrompt()
  }
  return (
    <div className="rounded-xl border border-dashed border-line-strong pb-6">
      <EmptyState icon={<Clapperboard />} title={t('empty_title')}>
        {t('empty')}
      </EmptyState>
      <ul className="mx-auto -mt-4 flex max-w-xl flex-col gap-2 px-4 sm:px-6">
        {EXAMPLES.map((example) => (
          <li key={example}>
            <button
              type="button"
              onClick={() => take(promptOf(example))}
              className="group flex w-full items-start gap-3 rounded-lg border border-line bg-surface px-4 py-3 text-start shadow-raised transition-colors hover:border-accent"
            >
              <span className="min-w-0 grow">
                <span className="block text-sm font-medium">{t(`examples.${example}.name`)}</span>
                <span className="mt-0.5 block text-[0.8125rem] text-pretty text-muted">{promptOf(example)}</span>
              </span>
              <ArrowUpLeft aria-hidden className="mt-0.5 size-4 shrink-0 text-muted group-hover:text-accent" />
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
