import type { ReactNode } from 'react'
import { useText } from '../text/use-text.ts'
import { LanguageSwitch, ThemeSwitch } from '../ui/form/appearance.tsx'
import mark from '../ui/mark.svg'
import { useTitleFocus } from '../ui/title-focus.ts'

/** The frame of the pages before sign-in. */
export function LoginFrame({ children }: { children: ReactNode }) {
  const t = useText('shell')
  return (
    <div className="flex min-h-dvh flex-col items-center px-4">
      <main id="main" tabIndex={-1} className="flex w-full max-w-sm grow flex-col pt-[max(3rem,14dvh)] pb-12">
        <p className="mb-6 flex items-center gap-2.5 font-semibold tracking-tight">
          <img src={mark} alt="" width={28} height={28} />
          {t('brand')}
        </p>
        <div className="rounded-2xl border border-line bg-surface p-6 shadow-raised sm:p-8">{children}</div>
      </main>
      <footer className="flex w-full max-w-sm items-center justify-between gap-3 pb-6">
        <ThemeSwitch />
        <LanguageSwitch className="w-32" />
      </footer>
    </div>
  )
}

/** The heading of a step; takes the focus when the page opens, unless a field has it. */
export function LoginTitle({ children }: { children: string }) {
  const heading = useTitleFocus()
  return (
    <h1 ref={heading} tabIndex={-1} data-page-title className="mb-5 text-lg font-semibold tracking-tight text-balance">
      {children}
    </h1>
  )
}
