import type { PageLanguage } from './page.ts'

type Frame = {
  language: PageLanguage
  title: string
  /** Of the page, without a language. */
  path: string
  /** What stands beside the name of the product. */
  place: string
  /** Between the header and the end, as HTML. */
  body: string
  /** Of the body, for the style sheet. */
  look?: string
  /** For people without an account: the page leads nowhere else. */
  outside?: boolean
}

/** A page of HTML beside the console, with a header of the same look, its choices of theme and language, and the way back. */
export function framedPage({ language, title, path, place, body, look = '', outside }: Frame): string {
  const { back, skip, theme, themes, other } = WORDS[language]
  const buttons = themes.map(([value, name]) => `<button type="button" value="${value}">${name}</button>`).join('')
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="stylesheet" href="/docs/style.css">
<script src="/docs/choices.js"></script>
</head>
<body class="${look}">
<a class="skip" href="#main">${skip}</a>
<header class="top"><p class="brand">${MARK} Kinora <span class="product">${place}</span></p>
${outside ? '' : `<a href="/">${back}</a>\n`}<div class="choices"><div class="themes" role="group" aria-label="${theme}" hidden>${buttons}</div>
<a href="${path}?lang=${other.lang}" hreflang="${other.lang}" lang="${other.lang}">${other.name}</a></div></header>
${body}
</body>
</html>
`
}

/** As in `console/ui/mark.svg`. */
const MARK =
  '<svg aria-hidden="true" viewBox="0 0 32 32" width="24" height="24"><rect width="32" height="32" rx="8" fill="#0f6b7c"/><path d="M9 8.5v15M22.5 8.5 13 16l9.5 7.5" fill="none" stroke="#fff" stroke-width="3.4" stroke-linecap="round" stroke-linejoin="round"/></svg>'

type Words = {
  back: string
  skip: string
  theme: string
  themes: ReadonlyArray<readonly [value: 'light' | 'dark' | 'system', name: string]>
  /** The way to the other language, in its own words. */
  other: { lang: PageLanguage; name: string }
}

const WORDS: Record<PageLanguage, Words> = {
  en: {
    back: 'Back to the console',
    skip: 'Skip to content',
    theme: 'Theme',
    themes: [
      ['light', 'Light'],
      ['dark', 'Dark'],
      ['system', 'System'],
    ],
    other: { lang: 'ja', name: '日本語' },
  },
  ja: {
    back: 'コンソールへ戻る',
    skip: '本文へ移動',
    theme: 'テーマ',
    themes: [
      ['light', 'ライト'],
      ['dark', 'ダーク'],
      ['system', 'システム'],
    ],
    other: { lang: 'en', name: 'English' },
  },
}
