import type en from '../../en/videos/repeat.ts'

/** What can be done with a clip to make the next one. */
export default {
  next: '次の動画を作る',
  vary: 'バリエーションを作る',
  vary_hint: 'リクエストをフォームに写し、3 本にします。',
  vary_done: 'リクエストの内容をフォームに入れ、本数を 3 にしました。内容を変えるか、そのまま作成してください。',
  /** Above the prompt in the form. */
  continues: '「{{title}}」の続きです。次に起きることを書いてください。',
  extend: '続きを作る',
  extending: '最後のフレームを取り出しています…',
  extend_hint: 'この動画の最後のフレームが、新しい動画の最初のフレームになります。',
  extend_done: '最後のフレームを、最初のフレームとしてフォームに入れました。続きの場面を書いてください。',
  extend_other:
    '最後のフレームを、最初のフレームとしてフォームに入れました。{{before}} は最初のフレームに対応していないため、モデルは {{model}} です。',
  extend_failed: 'この動画の最後のフレームを作成できませんでした。プレーヤーから保存し、フォームに追加してください。',
  another_model: '別のモデルを使う',
  made_from: '元の動画',
  tried_again: 'もう一度作成済み：最新の動画を開く',
  untitled: '動画',
  try_again: 'もう一度作成',
  try_again_title: 'もう一度作成しますか？',
  try_again_text: '同じリクエストをもう一度送信します。料金は {{cost}}、利用可能額は {{available}} です。',
  changed: {
    seconds: '{{model}} の長さは {{min}}〜{{max}} 秒のため、{{from}} 秒ではなく {{to}} 秒になります。',
    ratio: '{{model}} は {{from}} に対応していないため、アスペクト比は {{to}} になります。',
    slots: '{{model}} で使えないもの：{{slots}}。',
    count: '{{slot}}：{{model}} で使えるのは {{n}} 点のうち {{max}} 点です。',
    files: '{{model}} で使えるファイルは合わせて {{max}} 点ですが、{{n}} 点あります。',
  },
} satisfies Record<keyof typeof en, unknown>
