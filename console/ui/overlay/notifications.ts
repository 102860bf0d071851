import { readStored, removeStored, store } from '../../api/personal-storage.ts'

const NAME = 'notifications'

/** Whether this browser shows them: `off` until the person turns them on, `blocked` by the browser, or `missing` in it. */
export type NotificationState = 'on' | 'off' | 'blocked' | 'missing'

export function notificationState(): NotificationState {
  if (!('Notification' in window)) return 'missing'
  if (Notification.permission === 'denied') return 'blocked'
  return readStored(NAME) === true && Notification.permission === 'granted' ? 'on' : 'off'
}

/** Asks the browser for permission: only ever on a click of the person. */
export async function turnNotificationsOn(): Promise<NotificationState> {
  if ((await Notification.requestPermission()) === 'granted') store(NAME, true)
  return notificationState()
}

export function turnNotificationsOff(): NotificationState {
  removeStored((name) => name === NAME)
  return notificationState()
}

/** Shows a notification while nobody looks at this tab. Those of several tabs with the same tag are one. */
export function notify(text: string, { tag, onOpen }: { tag: string; onOpen: () => void }): void {
  if (!document.hidden || notificationState() !== 'on') return
  const shown = new Notification('Kinora', { body: text, tag })
  shown.onclick = () => {
    window.focus()
    onOpen()
    shown.close()
  }
}
