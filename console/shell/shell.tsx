import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { Menu as MenuIcon } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useLiveChanges } from '../api/live.ts'
import { useBalance } from '../api/queries.ts'
import { useText } from '../text/use-text.ts'
import { IconButton } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { Money } from '../ui/data/format.tsx'
import { Skeleton } from '../ui/layout.tsx'
import { Drawer } from '../ui/overlay/drawer.tsx'
import { AccountMenu } from './account-menu.tsx'
import { ConnectionNote } from './connection-note.tsx'
import { useEndedVideos } from './ended-videos.ts'
import { Navigation } from './navigation.tsx'
import { OrganizationSwitcher } from './organization-switcher.tsx'
import { useWaitingVideos } from './waiting-videos.ts'

/** The frame around every page of a person who is signed in. */
export function Shell() {
  const t = useText('shell')
  useLiveChanges()
  useEndedVideos()
  useWaitingVideos()
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="sr-only rounded-lg bg-raised px-4 py-2 shadow-float focus:not-sr-only focus:fixed focus:start-3 focus:top-3 focus:z-60"
      >
        {t('skip')}
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col border-e border-line bg-canvas lg:flex">
        <Sidebar />
      </aside>
      <TopBar />
      <main
        id="main"
        tabIndex={-1}
        className="mx-auto w-full max-w-[106rem] min-w-0 px-4 pt-6 pb-16 sm:px-6 lg:px-10 lg:pt-8"
      >
        <ConnectionNote />
        <Outlet />
      </main>
    </div>
  )
}

function Sidebar() {
  return (
    <>
      <div className="p-3">
        <OrganizationSwitcher />
      </div>
      <Navigation />
      <div className="mt-auto flex flex-col gap-2 p-3">
        <BalanceChip />
        <AccountMenu />
      </div>
    </>
  )
}

/** On narrow screens: the sidebar behind a button. */
function TopBar() {
  const t = useText('shell')
  const [open, setOpen] = useState(false)
  const { pathname } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the drawer.
  useEffect(() => setOpen(false), [pathname])
  return (
    <header className="sticky top-0 z-20 flex h-13 items-center gap-2 border-b border-line bg-canvas px-2 sm:px-4 lg:hidden">
      <Drawer
        open={open}
        onOpenChange={setOpen}
        title={t('navigation')}
        trigger={<IconButton label={t('open_navigation')} icon={<MenuIcon />} />}
      >
        <Sidebar />
      </Drawer>
      <span className="grow truncate font-semibold tracking-tight">{t('brand')}</span>
      <BalanceChip compact />
    </header>
  )
}

/** The available balance, linked to the billing page. */
function BalanceChip({ compact }: { compact?: boolean }) {
  const t = useText('shell')
  const { data } = useBalance()
  const empty = data !== undefined && Number(data.available) <= 0
  return (
    <Link
      to="/billing"
      className={cx(
        'flex items-center justify-between gap-3 rounded-lg border border-line bg-surface text-sm hover:bg-hover',
        compact ? 'h-8 px-2.5 pointer-coarse:h-10' : 'h-10 px-3',
      )}
    >
      <span className={compact ? 'sr-only' : 'text-[0.8125rem] text-muted'}>{t('available')}</span>
      {data ? (
        <span className={cx('font-medium', empty && 'text-danger')}>
          <Money amount={data.available} currency={data.currency} />
        </span>
      ) : (
        <Skeleton className="h-4 w-14" />
      )}
    </Link>
  )
}
