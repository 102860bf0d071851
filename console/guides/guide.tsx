import { type ReactNode, useRef } from 'react'
import { flushSync } from 'react-dom'
import { SNIPPET_LANGUAGES, type SnippetLanguage } from '../api/snippets.ts'
import { useText } from '../text/use-text.ts'
import { CodeBlock } from '../ui/data/code.tsx'
import { Segmented } from '../ui/form/choice.tsx'
import { guideProgram, type Target, type Topic } from './programs.ts'

export type GuideProps = {
  target: Target
  language: SnippetLanguage
  /** One choice for all programs of the page. */
  onLanguage: (language: SnippetLanguage) => void
}

/** One thing to learn, with an address of its own. */
export function Guide({
  id,
  title,
  about,
  children,
}: {
  id: string
  title: string
  about?: string
  children: ReactNode
}) {
  return (
    <section
      id={id}
      aria-labelledby={`${id}-title`}
      className="flex min-w-0 scroll-mt-20 flex-col gap-4 lg:scroll-mt-8"
    >
      <div className="flex flex-col gap-1.5">
        <h2 id={`${id}-title`} className="text-base font-semibold tracking-tight">
          {title}
        </h2>
        {about && <p className="text-sm text-pretty text-muted">{about}</p>}
      </div>
      {children}
    </section>
  )
}

/** Things to do one after the other. */
export function Steps({ children }: { children: ReactNode }) {
  return <ol className="flex flex-col gap-6 [counter-reset:step]">{children}</ol>
}

/** One of `Steps`. */
export function Step({ children }: { children: ReactNode }) {
  return (
    <li className="grid grid-cols-[1.75rem_minmax(0,1fr)] gap-x-3 before:grid before:size-7 before:place-items-center before:rounded-full before:border before:border-line before:bg-surface before:text-[0.8125rem] before:font-medium before:text-muted before:content-[counter(step)] before:[counter-increment:step]">
      <div className="flex min-w-0 flex-col gap-3 pt-1 text-sm">{children}</div>
    </li>
  )
}

/** The program of a topic in the chosen language. */
export function Program({ topic, target, language, onLanguage }: GuideProps & { topic: Topic }) {
  const t = useText('guides')
  const name = SNIPPET_LANGUAGES.find(({ value }) => value === language)!.label
  const own = useRef<HTMLDivElement>(null)
  // The programs above change as well: this one stays where the reader has it before their eyes.
  const choose = (next: SnippetLanguage) => {
    const top = () => own.current?.getBoundingClientRect().top ?? 0
    const before = top()
    flushSync(() => onLanguage(next))
    window.scrollBy({ top: top() - before, behavior: 'instant' })
  }
  return (
    <div ref={own} className="flex min-w-0 flex-col gap-2">
      <Segmented
        className="self-start"
        label={`${t('language')}: ${t(`${topic}.title`)}`}
        value={language}
        options={SNIPPET_LANGUAGES}
        onChange={choose}
      />
      <CodeBlock
        code={guideProgram(topic, language, target)}
        label={t('program', { topic: t(`${topic}.title`), language: name })}
      />
    </div>
  )
}
