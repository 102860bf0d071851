import { useText } from '../text/use-text.ts'
import type { Delivery } from './endpoint.ts'

/** What went wrong in an attempt, in words. */
export function useErrorText(): (attempt: Pick<Delivery, 'error' | 'status_code'>) => string {
  const t = useText('webhooks')
  return ({ error, status_code }) => (error === null ? '' : t(`error_${error}`, { status: status_code }))
}
