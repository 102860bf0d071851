import { FileCode } from 'lucide-react'
import { useState } from 'react'
import { useChatModels } from '../api/chat-models.ts'
import { useSite } from '../api/queries.ts'
import type { SnippetLanguage } from '../api/snippets.ts'
import { useVideoModels } from '../api/video-models.ts'
import { inLanguage } from '../text/languages.ts'
import { useText } from '../text/use-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { CodeBlock } from '../ui/data/code.tsx'
import { Tabs } from '../ui/data/tabs.tsx'
import { PageHeader } from '../ui/layout.tsx'
import { CLIENTS, type Client, clientProgram } from './clients.ts'
import { Guide } from './guide.tsx'
import type { Target } from './programs.ts'
import { Chat, Files, Response, Start, Stream, Video } from './topics.tsx'

const TOPICS = ['start', 'chat', 'stream', 'response', 'files', 'video', 'clients'] as const

/** Quick starts: programs that run against this service as they are. */
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

/** Clients that work with this service by their base URL. */
function Clients({ target }: { target: Target }) {
  const t = useText('guides')
  const [client, setClient] = useState<Client>('openai')
  const tabs = CLIENTS.map(({ value, label }) => ({
    value,
    label,
    panel: (
      <div className="flex flex-col gap-3">
        <p className="text-sm">{t(`clients.${value}`)}</p>
        <CodeBlock code={clientProgram(value, target)} label={label} />
      </div>
    ),
  }))
  return (
    <Guide id="clients" title={t('clients.title')} about={t('clients.about')}>
      <Tabs label={t('client')} value={client} onChange={setClient} tabs={tabs} />
    </Guide>
  )
}

/** The address of this service and models of the plan; the built-in models where the plan has none. */
function useTarget(): Target {
  const site = useSite().data
  const chat = useChatModels().data ?? []
  const video = useVideoModels().data ?? []
  const chat_model = chat[0]?.id ?? 'sandbox-1'
  return {
    base_url: site?.public_url ?? window.location.origin,
    chat_model,
    vision_model: chat.find(({ capabilities }) => capabilities.includes('vision'))?.id ?? chat_model,
    video_model: video[0]?.id ?? 'storyboard-1',
  }
}
