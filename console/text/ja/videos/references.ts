import type en from '../../en/videos/references.ts'

/** How a prompt names the files of a request, in their order. */
export default {
  insert: 'プロンプトに {{tag}} を挿入',
  explained: 'プロンプトで素材を指定できます。ボタンを押すと名前が入ります。番号は種類ごとに 1 からの順番です。',
  moved: '{{name}} は {{tag}} になりました。',
  missing: 'プロンプトにある {{tags}} に当たる素材がありません。',
  unclosed: '閉じられていない <d> があります。セリフの後に </d> を入れてください。',
  unopened: '対応する <d> のない </d> があります。セリフの前に <d> を入れてください。',
  show: '表示',
} satisfies Record<keyof typeof en, unknown>
