import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { LoginSession } from '../../server/identity/schema.ts'
import { usePagedList } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { DateTime } from '../ui/format.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { toast } from '../ui/toast.tsx'
import { SESSIONS_KEY } from './account.ts'
import { browserName } from './browser-name.ts'
import { Section } from './section.tsx'

/** The browsers the person is signed in with, to be ended one by one or all but this. */
export function SessionsSection() {
  const t = useText('settings')
  const list = usePagedList<LoginSession>(SESSIONS_KEY, '/console/sessions', { limit: 20 })
  const [ending, setEnding] = useState<LoginSession | 'others' | null>(null)
  const columns = useColumns(setEnding)
  const hasOthers = list.rows?.some(({ current }) => !current) ?? false
  return (
    <Section flush title={t('sessions')} description={t('sessions_text')}>
      <div className="flex flex-col gap-3">
        <Table label={t('sessions')} columns={columns} rows={list.rows} list={list} skeletonRows={1} />
        {hasOthers && (
          <div>
            <Button onClick={() => setEnding('others')}>{t('end_others')}</Button>
          </div>
        )}
      </div>
      <EndDialog ending={ending} onClose={() => setEnding(null)} />
    </Section>
  )
}

function useColumns(onEnd: (session: LoginSession) => void): Column<LoginSession>[] {
  const t = useText('settings')
  return [
    { key: 'browser', header: t('column_browser'), lead: true, cell: (session) => <Where session={session} /> },
    { key: 'begun', header: t('column_begun'), cell: ({ created_at }) => <DateTime at={created_at} /> },
    { key: 'used', header: t('column_used'), cell: ({ last_used_at }) => <DateTime at={last_used_at} relative /> },
    {
      key: 'actions',
      header: t('column_actions'),
      controls: true,
      align: 'end',
      cell: (session) =>
        session.current ? null : (
          <Button size="sm" variant="ghost" className="text-danger" onClick={() => onEnd(session)}>
            {t('end')}
          </Button>
        ),
    },
  ]
}

function Where({ session: { user_agent, current } }: { session: LoginSession }) {
  const t = useText('settings')
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <span className="font-medium" title={user_agent ?? undefined}>
        <BrowserName user_agent={user_agent} />
      </span>
      {current && <Badge tone="accent">{t('this_browser')}</Badge>}
    </span>
  )
}

function BrowserName({ user_agent }: { user_agent: string | null }) {
  const t = useText('settings')
  const { browser, system } = browserName(user_agent)
  if (browser && system) return t('browser_on', { browser, system })
  return browser ?? system ?? t('unknown_browser')
}

function EndDialog({ ending, onClose }: { ending: LoginSession | 'others' | null; onClose: () => void }) {
  const t = useText('settings')
  const queries = useQueryClient()
  if (ending === null) return null
  const all = ending === 'others'
  const end = async () => {
    await request('DELETE', all ? '/console/sessions' : `/console/sessions/${ending.id}`)
    toast(t(all ? 'others_ended' : 'ended'))
    await queries.invalidateQueries({ queryKey: SESSIONS_KEY })
  }
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t(all ? 'end_others_title' : 'end_title')}
      confirmLabel={t(all ? 'end_others' : 'end')}
      onConfirm={end}
    >
      <p>{t(all ? 'end_others_text' : 'end_text')}</p>
    </ConfirmDialog>
  )
}
