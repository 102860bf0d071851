import { useNavigate } from '@tanstack/react-router'
import { ChevronsUpDown } from 'lucide-react'
import { useSession, useSwitchOrganization } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Avatar } from '../ui/data/badge.tsx'
import { useFailureTexts } from '../ui/failure-text.ts'
import { Menu } from '../ui/overlay/menu.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { finishDeletions } from '../ui/overlay/undo.tsx'

/** Which organization the person acts in; a menu when there are several. */
export function OrganizationSwitcher() {
  const t = useText('shell')
  const { organization, organizations } = useSession()
  const change = useSwitchOrganization()
  const navigate = useNavigate()
  const failureText = useFailureTexts()
  const face = (
    <>
      <Avatar square name={organization.name} />
      <span className="min-w-0 grow py-1 text-start leading-snug font-medium [overflow-wrap:anywhere]">
        {organization.name}
      </span>
    </>
  )
  if (organizations.length < 2) return <div className="flex min-h-10 items-center gap-2.5 px-2">{face}</div>
  const choose = async (id: string, name: string) => {
    if (id === organization.id) return
    try {
      await finishDeletions()
      await change.mutateAsync(id)
      await navigate({ to: '/videos' })
      toast(t('switched', { name }))
    } catch (error) {
      toast(`${t('not_switched')} ${failureText(error)}`, 'danger')
    }
  }
  return (
    <Menu
      align="start"
      width="w-(--radix-dropdown-menu-trigger-width)"
      trigger={
        <button type="button" className="flex min-h-10 w-full items-center gap-2.5 rounded-lg px-2 hover:bg-hover">
          <span className="sr-only">{t('organization')}</span>
          {face}
          <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-muted" />
        </button>
      }
      items={[
        { heading: t('organizations') },
        ...organizations.map(({ id, name }) => ({
          label: name,
          checked: id === organization.id,
          onSelect: () => void choose(id, name),
        })),
      ]}
    />
  )
}
