import { newFailure } from '../api/failure.ts'
import { useText as useKitText, useText } from '../text/use-text.ts'
import { Button, Link } from '../ui/button.tsx'
import { FailureNote, Note } from '../ui/failure-note.tsx'
import type { AssistantMessage } from './conversation.ts'

/** Why there is no answer, or only part of one, and the way to ask again. */
export function AnswerFailure({
  failure,
  onRetry,
}: {
  failure: NonNullable<AssistantMessage['failure']>
  onRetry: (() => void) | undefined
}) {
  const t = useText('chat')
  const kit = useKitText('kit')
  const { status, code, message, request_id } = failure
  if (code !== 'insufficient_credits')
    return <FailureNote error={newFailure(status, code, message, { request_id })} {...(onRetry && { onRetry })} />
  return (
    <Note
      tone="danger"
      action={
        onRetry && (
          <Button size="sm" onClick={onRetry}>
            {kit('retry')}
          </Button>
        )
      }
    >
      <span className="font-medium">{t('no_credit_title')}</span>
      <p className="mt-0.5">
        {t('no_credit')} <Link to="/billing">{t('see_balance')}</Link>
      </p>
    </Note>
  )
}
