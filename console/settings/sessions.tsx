import { useQueryClient } from '@tanstack/react-query'
import { Monitor, Smartphone } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { LoginSession } from '../../server/identity/schema.ts'
import { usePagedList } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { Badge } from '../ui/data/badge.tsx'
import { useFormat } from '../ui/data/format.tsx'
import { FailureNote } from '../ui/failure-note.tsx'
import { Skeleton } from '../ui/layout.tsx'
import { ConfirmDialog } from '../ui/overlay/dialog.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { SESSIONS_KEY } from './account.ts'
import { browserName, isPhone } from './browser-name.ts'
import { Section } from './section.tsx'

/** The browsers the person is signed in with, to be ended one by one or all but this. */
export function SessionsSection() {
  const t = useText('settings')
  const kit = useText('kit')
  const list = usePagedList<LoginSession>(SESSIONS_KEY, '/console/sessions', { limit: 10 })
  const [ending, setEnding] = useState<LoginSession | 'others' | null>(null)
  const hasOthers = list.rows?.some(({ current }) => !current) ?? false
  return (
    <Section title={t('sessions')} description={t('sessions_text')}>
      {list.error ? <FailureNote error={list.error} onRetry={list.reload} /> : null}
      <ul aria-label={t('sessions')} className="-my-2 divide-y divide-line">
        {list.rows === null && !list.error && <SkeletonRow />}
        {list.rows?.map((session) => (
          <SessionRow key={session.id} session={session} onEnd={() => setEnding(session)} />
        ))}
      </ul>
      {hasOthers && (
        <div className="mt-4 flex flex-wrap gap-2 border-t border-line pt-4">
          {list.has_more && (
            <Button busy={list.is_loading_more} onClick={list.loadMore}>
              {kit('load_more')}
            </Button>
          )}
          <Button onClick={() => setEnding('others')}>{t('end_others')}</Button>
        </div>
      )}
      <EndDialog ending={ending} onClose={() => setEnding(null)} />
    </Section>
  )
}

function SessionRow({ session, onEnd }: { session: LoginSession; onEnd: () => void }) {
  const t = useText('settings')
  const { dateTime, relative } = useFormat()
  const { user_agent, current, created_at, last_used_at } = session
  return (
    <Row
      icon={isPhone(user_agent) ? <Smartphone /> : <Monitor />}
      end={
        !current && (
          <Button size="sm" variant="ghost" className="text-danger!" onClick={onEnd}>
            {t('end')}
          </Button>
        )
      }
    >
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="text-sm font-medium" title={user_agent ?? undefined}>
          <BrowserName user_agent={user_agent} />
        </span>
        {current && <Badge tone="accent">{t('this_browser')}</Badge>}
      </span>
      <span className="text-[0.8125rem] text-pretty text-muted">
        {t('session_times', { begun: dateTime(created_at), used: relative(last_used_at) })}
      </span>
    </Row>
  )
}

function SkeletonRow() {
  return (
    <Row icon={null} end={null}>
      <Skeleton className="my-0.5 h-4 w-40" />
      <Skeleton className="my-0.5 h-4 w-64 max-w-full" />
    </Row>
  )
}

function Row({ icon, end, children }: { icon: ReactNode; end: ReactNode; children: ReactNode }) {
  return (
    <li className="flex min-h-15 items-center gap-3 py-2">
      <span
        aria-hidden
        className="grid size-8 shrink-0 place-items-center rounded-lg border border-line bg-sunken text-muted [&_svg]:size-4"
      >
        {icon}
      </span>
      <div className="flex min-w-0 grow flex-col">{children}</div>
      {end}
    </li>
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
