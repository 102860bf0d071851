import { FileCode } from 'lucide-react'
import { useState } from 'react'
import type { SnippetLanguage } from '../api/snippets.ts'
import { inLanguage } from '../text/languages.ts'
import { useText } from '../text/use-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { PageHeader } from '../ui/layout.tsx'
import { Clients } from './more-clients.tsx'
import { Chat, Files, Response, Start, Stream, Video } from './topics.tsx'
import { useTarget } from './use-target.ts'

const TOPICS = ['start', 'chat', 'stream', 'response', 'files', 'video', 'clients'] as const

/** Quick starts: programs that run against this very service as they stand. */
export function GuidesPage() {
  const t = useText('guides')
  const target = useTarget()
  const [language, setLanguage] = useState<SnippetLanguage>('curl')
  const shared = { target, language, onLanguage: setLanguage }
  const actions = (
    <a href={inLanguage('/docs')} target="_blank" rel="noreferrer" className={buttonClass()}>
      <FileCode aria-hidden />
      {t('reference')}
    </a>
  )
  return (
    <div className="grid gap-x-12 [overflow-anchor:none] xl:grid-cols-[minmax(0,1fr)_12rem]">
      <div className="min-w-0 max-w-3xl">
        <PageHeader title={t('title')} description={t('about')} actions={actions} />
        <div className="flex flex-col gap-14">
          <Start {...shared} />
          <Chat {...shared} />
          <Stream {...shared} />
          <Response {...shared} />
          <Files {...shared} />
          <Video {...shared} />
          <Clients target={target} />
        </div>
      </div>
      <Contents />
    </div>
  )
}

function Contents() {
  const t = useText('guides')
  return (
    <nav aria-label={t('contents')} className="sticky top-8 hidden self-start xl:block">
      <p className="mb-2 px-2 text-xs font-medium text-muted">{t('contents')}</p>
      <ul className="flex flex-col border-s border-line">
        {TOPICS.map((topic) => (
          <li key={topic}>
            <a
              href={`#${topic}`}
              className="-ms-px block border-s border-transparent py-1 ps-3 text-[0.8125rem] text-muted hover:border-accent hover:text-ink"
            >
              {topic === 'start' ? t('start.title') : t(`${topic}.short`)}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
