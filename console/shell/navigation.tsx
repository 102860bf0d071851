import { Link } from '@tanstack/react-router'
import {
  BookOpen,
  ChartColumn,
  Clapperboard,
  Folder,
  KeyRound,
  MessageSquare,
  Receipt,
  Settings,
  Users,
  Webhook,
} from 'lucide-react'
import { useIsManager } from '../api/session.ts'
import { useText } from '../text/use-text.ts'

const PLACES = [
  [
    { to: '/videos', text: 'videos', Icon: Clapperboard },
    { to: '/chat', text: 'chat', Icon: MessageSquare },
    { to: '/files', text: 'files', Icon: Folder },
  ],
  [
    { to: '/keys', text: 'keys', Icon: KeyRound },
    { to: '/webhooks', text: 'webhooks', Icon: Webhook, managers_only: true },
    { to: '/usage', text: 'usage', Icon: ChartColumn },
    { to: '/billing', text: 'billing', Icon: Receipt },
    { to: '/members', text: 'members', Icon: Users, managers_only: true },
  ],
  [
    { to: '/guides', text: 'guides', Icon: BookOpen },
    { to: '/settings', text: 'settings', Icon: Settings },
  ],
] as const

/** Where one can go: members find nothing to do in some places. */
export function Navigation() {
  const t = useText('shell')
  const isManager = useIsManager()
  const isOpen = (place: object) => isManager || !('managers_only' in place)
  return (
    <nav aria-label={t('navigation')} className="flex flex-col gap-4 px-3 py-2">
      {PLACES.map((group) => (
        <ul key={group[0].to} className="flex flex-col gap-0.5">
          {group.filter(isOpen).map(({ to, text, Icon }) => (
            <li key={to}>
              <Link
                to={to}
                className="flex h-8 items-center gap-2.5 rounded-lg px-2.5 text-sm text-muted transition-colors hover:bg-hover hover:text-ink pointer-coarse:h-11 aria-[current=page]:bg-hover aria-[current=page]:font-medium aria-[current=page]:text-ink [&[aria-current=page]>svg]:text-accent"
              >
                <Icon aria-hidden className="size-4 shrink-0" />
                {t(`places.${text}`)}
              </Link>
            </li>
          ))}
        </ul>
      ))}
    </nav>
  )
}
