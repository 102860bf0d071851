import type { PageLanguage } from '../../platform/http/page.ts'
import { framedPage } from '../../platform/http/page-frame.ts'

/** The page of a link: the clip and until when it is there. Nothing says whose it is or what was asked for. */
export function sharedPage(
  language: PageLanguage,
  { token, download, expires_at }: { token: string; download: boolean; expires_at: Date },
): string {
  const { title, until, save } = TEXTS[language]
  const content = `/s/${token}/content`
  const time = new Intl.DateTimeFormat(language, { ...TIME_PARTS, timeZone: 'UTC' })
  const button = download ? `\n<p><a class="button" href="${content}" download="video.mp4">${save}</a></p>` : ''
  const body = `<main id="main">
<h1>${title}</h1>
<video src="${content}" aria-label="${title}" controls${download ? '' : ' controlslist="nodownload"'} playsinline preload="metadata"></video>
<p>${until(`<time datetime="${expires_at.toISOString()}" data-local>${time.format(expires_at)}</time>`)}</p>${button}
</main>`
  return framed(language, token, body)
}

/** The page of every link that shows nothing: ended, revoked, turned off, of a deleted clip, or never made. */
export function endedPage(language: PageLanguage, token: string): string {
  const { ended, ask } = TEXTS[language]
  return framed(language, token, `<main id="main">\n<h1>${ended}</h1>\n<p>${ask}</p>\n</main>`)
}

function framed(language: PageLanguage, token: string, body: string): string {
  const { title } = TEXTS[language]
  const path = `/s/${encodeURIComponent(token)}`
  return framedPage({ language, title: `${title} · Kinora`, path, place: title, body, look: 'shared', outside: true })
}

/** As in `server/api-docs/page/choices.js`, which shows the time where the visitor is. */
const TIME_PARTS = {
  year: 'numeric',
  month: 'long',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  timeZoneName: 'short',
} as const

type Texts = {
  title: string
  until: (time: string) => string
  save: string
  ended: string
  ask: string
}

const TEXTS: Record<PageLanguage, Texts> = {
  en: {
    title: 'Shared video',
    until: (time) => `Available until ${time}.`,
    save: 'Download',
    ended: 'This link has expired or was revoked',
    ask: 'Ask the person who sent it for a new one.',
  },
  ja: {
    title: '共有された動画',
    until: (time) => `${time} まで視聴できます。`,
    save: 'ダウンロード',
    ended: 'リンクの有効期限が切れているか、無効になっています。',
    ask: '送ってくれた人に新しいリンクを依頼してください。',
  },
}
