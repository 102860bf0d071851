import { useText } from '../text/use-text.ts'
import { LanguageSwitch, ThemeSwitch } from '../ui/form/appearance.tsx'
import { PageHeader } from '../ui/layout.tsx'
import { NotificationsSection } from './notifications.tsx'
import { PasswordSection } from './password-form.tsx'
import { ProfileSection } from './profile-form.tsx'
import { Section } from './section.tsx'
import { SessionsSection } from './sessions.tsx'
import { TermsSection } from './terms.tsx'
import { TwoFactorSection } from './two-factor/two-factor.tsx'

export function SettingsPage() {
  const t = useText('settings')
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} />
      <div className="max-w-5xl">
        <ProfileSection />
        <AppearanceSection />
        <NotificationsSection />
        <PasswordSection />
        <TwoFactorSection />
        <SessionsSection />
        <TermsSection />
      </div>
    </>
  )
}

function AppearanceSection() {
  const t = useText('settings')
  return (
    <Section title={t('appearance')} description={t('appearance_text')}>
      <div className="flex flex-col gap-4">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <span className="text-sm">{t('theme')}</span>
          <ThemeSwitch />
        </div>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <span className="text-sm">{t('language')}</span>
          <LanguageSwitch className="w-40" />
        </div>
      </div>
    </Section>
  )
}
