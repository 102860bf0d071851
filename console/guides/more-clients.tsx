import { useState } from 'react'
import { useText } from '../text/use-text.ts'
import { CodeBlock } from '../ui/data/code.tsx'
import { Tabs } from '../ui/data/tabs.tsx'
import { CLIENTS, type Client, clientProgram } from './clients.ts'
import { Guide } from './guide.tsx'
import type { Target } from './programs.ts'

/** Clients that are pointed here by their base URL. */
export function Clients({ target }: { target: Target }) {
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
