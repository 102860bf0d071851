import type en from '../../en/videos/help.ts'

/** A chat model improves the prompt. */
export default {
  improve: '改善',
  improving: '改善中…',
  hint: '{{model}} にプロンプトの改善案を求めます。チャットと同じ料金がかかり、採用するまで何も変わりません。',
  cost_max: '料金は最大 {{cost}}',
  cost_max_english: '英語で提案します。料金は最大 {{cost}}',
  unpaired: '先に <d> と </d> の組をそろえてください。セリフはそのまま残ります。',
  title: '改善案',
  proposal: '改善案（編集できます）',
  cost: 'この改善案の料金は {{cost}} でした。',
  replaced: 'プロンプトを改善案に置き換えました。',
  restore: '元の文章に戻す',
  outdated: '改善案を求めた後にプロンプトが変わりました。採用すると、現在のプロンプト全体が置き換わります。',
  accept: '採用',
  dismiss: '閉じる',
  unusable: '回答でセリフが変わったか、プロンプトになっていないため、表示しません。もう一度お試しください。',
  failed: '改善案を作成できませんでした。{{reason}}',
} satisfies Record<keyof typeof en, unknown>
