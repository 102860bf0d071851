import type en from '../../en/videos/waiting.ts'

/** Requests that wait in the browser. */
export default {
  title_one: '送信待ちの動画 {{count}} 本',
  title_other: '送信待ちの動画 {{count}} 本',
  explained:
    'プランの同時実行数の上限に達しています。送信待ちの動画はこのブラウザーに保存され、コンソールを開いている間、ほかの動画が終わると自動で送信されます。料金は送信時のものです。サインアウトすると削除されます。',
  clips: '{{n}} 本まとめて',
  refused: '送信できませんでした。{{reason}}',
  may_be_made:
    '再送信していません。1 日前の送信に応答がなく、すでに作成された可能性があります。先に動画一覧を確認してください。',
  again: '再送信：{{prompt}}',
  first: '先に送信：{{prompt}}',
  remove: '送信待ちから外す：{{prompt}}',
} satisfies Record<keyof typeof en, unknown>
