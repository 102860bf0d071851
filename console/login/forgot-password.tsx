import { useState } from 'react'
import { useSite } from '../api/queries.ts'
import { shellQuote } from '../api/snippets.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/data/code.tsx'
import { Dialog } from '../ui/overlay/dialog.tsx'

/** What somebody can do who has forgotten the password: only the operator can replace it. */
export function ForgotPassword({ email }: { email: string }) {
  const t = useText('login')
  const { data: site } = useSite()
  const [open, setOpen] = useState(false)
  const user = shellQuote(email.trim() || 'you@example.com')
  return (
    <>
      <Button variant="ghost" size="sm" className="-ms-2.5 -mt-2.5 self-start" onClick={() => setOpen(true)}>
        {t('forgot.link')}
      </Button>
      <Dialog open={open} onOpenChange={setOpen} title={t('forgot.title')}>
        <div className="flex flex-col gap-3 text-sm">
          <p>{t('forgot.no_mail')}</p>
          {site?.oidc && <p>{t('forgot.provider', { name: site.oidc.name })}</p>}
          <p>{t('forgot.ask')}</p>
          <CodeBlock wrap code={`kinora admin user reset-password --user ${user}`} label={t('forgot.command')} />
          <p>{t('forgot.after')}</p>
          <p className="text-muted">{t('forgot.codes')}</p>
          <CodeBlock
            wrap
            code={`kinora admin user reset-two-factor --user ${user}`}
            label={t('forgot.other_command')}
          />
        </div>
      </Dialog>
    </>
  )
}
