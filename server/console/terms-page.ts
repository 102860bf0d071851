import { escapeHtml, type PageLanguage } from '../platform/http/page.ts'
import { framedPage } from '../platform/http/page-frame.ts'

/** The video terms that are in force while the operator has named none: plain rules, and a note that they are only these. */
export function termsPage(language: PageLanguage, version: string): string {
  const { title, notice, rules, place } = TEXTS[language]
  const number = escapeHtml(version)
  const body = `<main id="main">
<h1>${title}</h1>
<p>${language === 'ja' ? `バージョン ${number}` : `Version ${number}`}</p>
<p class="notice">${notice}</p>
${rules.map(([heading, text]) => `<h2>${heading}</h2>\n<p>${text}</p>`).join('\n')}
</main>`
  return framedPage({ language, title: `${title} · Kinora`, path: '/terms', place, body })
}

type Texts = {
  title: string
  notice: string
  rules: ReadonlyArray<readonly [heading: string, text: string]>
  /** In the header. */
  place: string
}

const TEXTS: Record<PageLanguage, Texts> = {
  en: {
    title: 'Video terms',
    notice:
      'The operator of this service has not published terms of their own yet. Until they do, you agree to these. Ask the operator when something is unclear.',
    rules: [
      [
        'Who agrees',
        'You agree for yourself, in one organization. Neither a teammate nor an API key can agree for you. “The operator” is whoever runs this service.',
      ],
      [
        'What you may make',
        'You use prompts, pictures, clips and sounds only where you have the right to. You make nothing that is against the law, that sexualizes minors, that shows a real person in a way that they did not agree to, or that is meant to deceive or harm.',
      ],
      [
        'What is checked',
        'Every prompt and file is checked before a video is made, and what is not allowed is refused. The check may be wrong in both directions: you remain responsible for what you make and publish.',
      ],
      [
        'What it costs',
        'The price of a video is fixed when you submit it. It is charged once, when the video is done. A video that fails is not charged.',
      ],
      [
        'What is kept',
        'Videos and uploaded files belong to your organization, are kept for up to 30 days and are then deleted. The operator may hand prompts and files to the model servers that make and check your videos.',
      ],
      [
        'No promise',
        'The service is provided as it is. The operator may end the access of those who break these terms.',
      ],
      ['Changes', 'New terms have a new version, and you are asked to agree again before your next video.'],
    ],
    place: 'Terms',
  },
  ja: {
    title: '動画の利用規約',
    notice:
      'このサービスの運営者は、独自の利用規約をまだ公開していません。公開されるまでは、次の内容への同意となります。ご不明な点は運営者にお問い合わせください。',
    rules: [
      [
        '同意する人',
        '同意は、1 つの組織におけるあなた個人のものです。ほかのメンバーや API キーが代わりに同意することはできません。「運営者」とは、このサービスを運用する者をいいます。',
      ],
      [
        '作成できるもの',
        'プロンプト、画像、動画、音声は、使用する権利のあるものだけを使ってください。法令に反するもの、未成年者を性的に描くもの、実在の人物を本人の同意なく描くもの、人を欺いたり害したりする目的のものは作成できません。',
      ],
      [
        '確認',
        'プロンプトとファイルは動画の作成前に確認され、認められないものは拒否されます。この確認は完全ではありません。作成し公開するものの責任は、利用者が負います。',
      ],
      ['料金', '動画の料金は送信時に確定し、完成したときに一度だけ請求されます。失敗した動画には請求されません。'],
      [
        '保存',
        '動画とアップロードしたファイルは組織に属し、最長 30 日間保存されたあと削除されます。運営者は、動画の作成と確認のために、プロンプトとファイルをモデルサーバーに渡すことがあります。',
      ],
      ['保証', 'サービスは現状のまま提供されます。運営者は、この規約に反した人の利用を停止することがあります。'],
      ['変更', '規約が変わるとバージョンも変わり、次の動画を作成する前に改めて同意が必要になります。'],
    ],
    place: '利用規約',
  },
}
