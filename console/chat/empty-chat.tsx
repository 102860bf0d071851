import { MessageSquare } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { usePlayground } from './playground/playground.ts'

const IDEAS = ['boat', 'json', 'table', 'translate'] as const

/** Before the first message: what this is, and something to begin with. */
export function EmptyChat({ onChosen }: { onChosen: () => void }) {
  const t = useText('chat')
  const { actions } = usePlayground()
  const choose = (idea: (typeof IDEAS)[number]) => {
    actions.draft({ text: t(`ideas.${idea}`) })
    onChosen()
  }
  return (
    <div className="m-auto flex w-full max-w-2xl flex-col items-center gap-6 py-8 text-center">
      <span
        aria-hidden
        className="grid size-11 place-items-center max-sm:hidden rounded-xl border border-line bg-sunken text-muted"
      >
        <MessageSquare className="size-5" />
      </span>
      <div className="flex flex-col gap-2">
        <h2 className="text-lg font-semibold tracking-tight">{t('empty_title')}</h2>
        <p className="max-w-lg text-sm text-pretty text-muted">{t('empty_text')}</p>
      </div>
      <ul className="grid w-full gap-2.5 sm:grid-cols-2">
        {IDEAS.map((idea) => (
          <li key={idea} className="grid">
            <button
              type="button"
              onClick={() => choose(idea)}
              className="rounded-xl border border-line bg-surface px-4 py-3 text-start text-[0.8125rem] leading-relaxed text-pretty shadow-raised transition-colors hover:border-line-strong hover:bg-hover"
            >
              {t(`ideas.${idea}`)}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
