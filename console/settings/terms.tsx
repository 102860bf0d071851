import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Acceptance, agreeToTerms, useAcceptance } from '../api/acceptance.ts'
import { failureOf } from '../api/failure.ts'
import { useSession } from '../api/session.ts'
import { inLanguage } from '../text/languages.ts'
import { useText } from '../text/use-text.ts'
import { Button, ExternalLink } from '../ui/button.tsx'
import { StatusBadge } from '../ui/data/badge.tsx'
import { useFormat } from '../ui/data/format.tsx'
import { FailureNote, Note } from '../ui/failure-note.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { LineSkeleton, Section } from './section.tsx'

/** Whether the person has agreed to the video terms in this organization, and to which; the agreement can be given here. */
export function TermsSection() {
  const t = useText('settings')
  const { organization } = useSession()
  const { data, error, refetch } = useAcceptance()
  return (
    <Section title={t('terms')} description={t('terms_text', { organization: organization.name })}>
      {error ? (
        <FailureNote error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <Agreement acceptance={data} />
      ) : (
        <LineSkeleton className="h-[3.125rem]" />
      )}
    </Section>
  )
}

function Agreement({ acceptance }: { acceptance: Acceptance }) {
  const t = useText('settings')
  const { dateTime } = useFormat()
  const queries = useQueryClient()
  const { terms_version: version, terms_url, accepted, accepted_version, accepted_at } = acceptance
  const agree = useMutation({
    mutationFn: () => agreeToTerms(queries, version),
    onSuccess: () => toast(t('agreed')),
  })
  // The terms changed after the page was shown; the version in force is shown now.
  const outdated = agree.error !== null && failureOf(agree.error).code === 'terms_version_mismatch'
  const when = accepted_at === null ? '' : dateTime(accepted_at)
  return (
    <div className="flex flex-col gap-3">
      <div className="flex min-h-9 flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <div className="flex flex-col items-start gap-2">
          <StatusBadge tone={accepted ? 'success' : 'warning'}>
            {t(accepted ? 'terms_agreed' : 'terms_not_accepted')}
          </StatusBadge>
          <p className="text-sm text-muted">
            {accepted ? t('terms_since', { version, when }) : t('terms_version', { version })}
            {!accepted && accepted_version !== null && (
              <span className="block">{t('terms_before', { version: accepted_version, when })}</span>
            )}
          </p>
        </div>
        <div className="flex flex-wrap items-center gap-x-5 gap-y-3">
          <ExternalLink href={inLanguage(terms_url)} className="text-sm">
            {t('read_terms')}
          </ExternalLink>
          {!accepted && (
            <Button variant="primary" busy={agree.isPending} onClick={() => agree.mutate()}>
              {t('agree')}
            </Button>
          )}
        </div>
      </div>
      {outdated ? <Note tone="warning">{t('terms_changed')}</Note> : null}
      {agree.error !== null && !outdated && <FailureNote error={agree.error} />}
    </div>
  )
}
