import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Acceptance, agreeToTerms } from '../../api/acceptance.ts'
import { failureOf } from '../../api/failure.ts'
import { inLanguage } from '../../text/languages.ts'
import { useText } from '../../text/use-text.ts'
import { Button, ExternalLink } from '../../ui/button.tsx'
import { FailureNote } from '../../ui/failure-note.tsx'
import { toast } from '../../ui/overlay/toast.ts'

/** The terms in force with a button to accept them, shown before the first video. */
export function TermsNote({ acceptance }: { acceptance: Acceptance }) {
  const t = useText('videos')
  const queries = useQueryClient()
  const { terms_version: version, terms_url } = acceptance
  const agree = useMutation({
    mutationFn: () => agreeToTerms(queries, version),
    onSuccess: () => toast(t('agreed')),
  })
  // The terms changed after the note was shown: it says so and links the version in force.
  const outdated = agree.error !== null && failureOf(agree.error).code === 'terms_version_mismatch'
  const changed = outdated || acceptance.accepted_version !== null
  const text = changed ? t('terms_changed', { version }) : t('terms_first', { version })
  const [before, link, after] = text.split(/<\/?terms>/)
  return (
    <div className="flex flex-col gap-2.5 rounded-lg border border-accent/40 bg-accent-soft py-2 ps-3.5 pe-2 text-sm">
      <div className="flex items-center justify-between gap-3">
        <p role="status" className="text-pretty">
          {before}
          <ExternalLink href={inLanguage(terms_url)}>{link}</ExternalLink>
          {after}
        </p>
        <Button variant="primary" busy={agree.isPending} onClick={() => agree.mutate()}>
          {t('agree')}
        </Button>
      </div>
      {agree.error !== null && !outdated && <FailureNote error={agree.error} />}
    </div>
  )
}
