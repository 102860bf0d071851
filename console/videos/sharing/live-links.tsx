import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { ShareLinkList, ShareLinkView } from '../../../server/videos/sharing/schema.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/data/code.tsx'
import { DateTime } from '../../ui/data/format.tsx'
import { FailureNote } from '../../ui/failure-note.tsx'
import { Skeleton } from '../../ui/layout.tsx'
import { ConfirmDialog } from '../../ui/overlay/dialog.tsx'
import { toast } from '../../ui/overlay/toast.ts'

export const SHARE_LINKS = 'share_links'

export function linksPath(video_id: string): string {
  return `/console/videos/${video_id}/share_links`
}

/** The links of a video that have not ended, each with a button that revokes it. */
export function LiveLinks({ video_id, onRevoked }: { video_id: string; onRevoked: (id: string) => void }) {
  const t = useText('videos/sharing')
  const [revoking, setRevoking] = useState<ShareLinkView | null>(null)
  const { data, error, refetch } = useQuery({
    queryKey: [SHARE_LINKS, video_id],
    queryFn: ({ signal }) => request<ShareLinkList>('GET', linksPath(video_id), { signal }),
  })
  const section = useRef<HTMLElement>(null)
  /** Where in the list the link was that has been revoked; null when the focus is in place. */
  const gap = useRef<number | null>(null)
  useEffect(() => {
    if (revoking !== null || gap.current === null) return
    const buttons = section.current!.querySelectorAll('button')
    const create = section.current!.closest('form')?.querySelector<HTMLElement>('[type=submit]')
    ;(buttons[gap.current] ?? buttons[gap.current - 1] ?? create)?.focus()
    gap.current = null
  }, [revoking])
  const onEnd = (id: string) => {
    gap.current = data?.data.findIndex((link) => link.id === id) ?? null
    onRevoked(id)
  }
  return (
    <section ref={section} aria-label={t('links')} className="border-t border-line pt-3">
      <h3 className="text-[0.8125rem] font-medium">{t('links')}</h3>
      {error && !data ? (
        <FailureNote error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton className="mt-2 h-9 w-full" />
      ) : data.data.length === 0 ? (
        <p className="py-2 text-sm text-muted">{t('none')}</p>
      ) : (
        <ul className="divide-y divide-line">
          {data.data.map((link) => (
            <Link key={link.id} link={link} onRevoke={() => setRevoking(link)} />
          ))}
        </ul>
      )}
      <RevokeDialog link={revoking} onClose={() => setRevoking(null)} onRevoked={onEnd} />
    </section>
  )
}

function Link({ link, onRevoke }: { link: ShareLinkView; onRevoke: () => void }) {
  const t = useText('videos/sharing')
  const { hint, created_at, expires_at, download } = link
  return (
    <li className="flex min-h-12 items-center justify-between gap-3 py-1.5 text-sm">
      <div className="min-w-0">
        <Code>{`…${hint}`}</Code>
        {download && <span className="ms-2 text-muted">{t('with_download')}</span>}
        <dl className="mt-1 flex flex-wrap gap-x-4 text-[0.8125rem] text-muted">
          <div className="flex gap-1">
            <dt>{t('ends')}</dt>
            <dd>
              <DateTime at={expires_at} />
            </dd>
          </div>
          <div className="flex gap-1">
            <dt>{t('created')}</dt>
            <dd>
              <DateTime at={created_at} />
            </dd>
          </div>
        </dl>
      </div>
      <Button
        size="sm"
        variant="ghost"
        className="text-danger!"
        aria-label={t('revoke_named', { hint })}
        onClick={onRevoke}
      >
        {t('revoke')}
      </Button>
    </li>
  )
}

function RevokeDialog({
  link,
  onClose,
  onRevoked,
}: {
  link: ShareLinkView | null
  onClose: () => void
  onRevoked: (id: string) => void
}) {
  const t = useText('videos/sharing')
  const queries = useQueryClient()
  if (link === null) return null
  const revoke = async () => {
    await request('DELETE', `/console/share_links/${link.id}`)
    onRevoked(link.id)
    toast(t('revoked'))
    await queries.invalidateQueries({ queryKey: [SHARE_LINKS, link.video_id] })
  }
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('revoke_title', { hint: link.hint })}
      confirmLabel={t('revoke')}
      onConfirm={revoke}
    >
      <p>{t('revoke_text')}</p>
    </ConfirmDialog>
  )
}
