import { newFailure } from '../../api/failure.ts'
import { useText } from '../../text/use-text.ts'
import { Button, Link } from '../../ui/button.tsx'
import { FailureNote, Note } from '../../ui/failure-note.tsx'
import type { AssistantMessage } from '../conversation/conversation.ts'

type AnswerFailureProps = { failure: NonNullable<AssistantMessage['failure']>; onRetry: (() => void) | undefined }

/** Codes with a text of their own in a conversation. */
const WORDED = [
  'context_length_exceeded',
  'model_not_found',
  'invalid_file',
  'missing_api_key',
  'request_too_large',
] as const

/** Why the answer failed, with a way to retry. */
export function AnswerFailure({ failure, onRetry }: AnswerFailureProps) {
  const t = useText('chat')
  const kit = useText('kit')
  const { status, code, param, request_id } = failure
  const worded = WORDED.find((each) => each === code)
  const retry = onRetry && (
    <Button size="sm" onClick={onRetry}>
      {kit('retry')}
    </Button>
  )
  if (code === 'insufficient_credits')
    return (
      <Note tone="danger" action={retry}>
        <span className="font-medium">{t('no_credit_title')}</span>
        <p className="mt-0.5">
          {t('no_credit')} <Link to="/billing">{t('see_balance')}</Link>
        </p>
      </Note>
    )
  if (worded)
    return (
      <Note tone="danger" action={retry}>
        {t(`failure.${worded}`)}
      </Note>
    )
  return <FailureNote error={newFailure(status, code, { param, request_id })} {...(onRetry && { onRetry })} />
}
