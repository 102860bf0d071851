import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { notificationState, turnNotificationsOff, turnNotificationsOn } from '../ui/overlay/notifications.ts'
import { Section } from './section.tsx'

/** Whether this browser notifies the person of videos that have ended. */
export function NotificationsSection() {
  const t = useText('settings')
  const [state, setState] = useState(notificationState)
  const change = useMutation({
    mutationFn: async () => (state === 'on' ? turnNotificationsOff() : turnNotificationsOn()),
    onSuccess: setState,
  })
  const mayChange = state === 'on' || state === 'off'
  return (
    <Section title={t('notifications')} description={t('notifications_text')}>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <span role="status" className="min-w-0 text-sm">
          {t(`notifications_${state}`)}
        </span>
        {mayChange && (
          <Button busy={change.isPending} onClick={() => change.mutate()}>
            {t(state === 'on' ? 'turn_off' : 'turn_on')}
          </Button>
        )}
      </div>
    </Section>
  )
}
