import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Ellipsis, FileCode, LogOut, UserRound } from 'lucide-react'
import { useState } from 'react'
import { readAllStored } from '../api/personal-storage.ts'
import { endSession, useSession, useSignOut } from '../api/session.ts'
import { inLanguage } from '../text/languages.ts'
import { useText } from '../text/use-text.ts'
import { Avatar } from '../ui/data/badge.tsx'
import { ConfirmDialog } from '../ui/overlay/dialog.tsx'
import { Menu } from '../ui/overlay/menu.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { finishDeletions } from '../ui/overlay/undo.tsx'

/** Who is signed in, and the way out. */
export function AccountMenu() {
  const t = useText('shell')
  const { user } = useSession()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const signOut = useSignOut()
  const [waiting, setWaiting] = useState(0)
  const leave = async () => {
    try {
      await finishDeletions()
      await signOut.mutateAsync()
      await navigate({ to: '/sign-in' })
      endSession(queries)
    } catch {
      toast(t('not_signed_out'), 'danger')
    }
  }
  const ask = () => {
    const count = countWaiting()
    setWaiting(count)
    if (count === 0) void leave()
  }
  return (
    <>
      <Menu
        align="start"
        width="w-(--radix-dropdown-menu-trigger-width)"
        trigger={
          <button
            type="button"
            className="flex min-h-11 w-full min-w-0 items-center gap-2.5 rounded-lg px-2 hover:bg-hover"
          >
            <span className="sr-only">{t('account')}</span>
            <Avatar name={user.name} />
            <span className="min-w-0 grow text-start leading-tight">
              <span className="block text-[0.8125rem] font-medium [overflow-wrap:anywhere]">{user.name}</span>
              <span className="block truncate text-xs text-muted" title={user.email}>
                {user.email}
              </span>
            </span>
            <Ellipsis aria-hidden className="size-4 shrink-0 text-muted" />
          </button>
        }
        items={[
          { label: t('my_account'), icon: <UserRound />, onSelect: () => void navigate({ to: '/settings' }) },
          { href: inLanguage('/docs'), label: t('api_reference'), icon: <FileCode />, external: true },
          'line',
          { label: t('sign_out'), icon: <LogOut />, onSelect: ask },
        ]}
      />
      <ConfirmDialog
        open={waiting > 0}
        onOpenChange={(open) => !open && setWaiting(0)}
        title={t('sign_out_question')}
        confirmLabel={t('sign_out')}
        onConfirm={leave}
      >
        {t('sign_out_waiting', { count: waiting })}
      </ConfirmDialog>
    </>
  )
}

/** How many videos wait in this browser to be sent, in all organizations of the person. */
function countWaiting(): number {
  return readAllStored('waiting.').reduce((sum: number, list) => sum + (Array.isArray(list) ? list.length : 0), 0)
}
