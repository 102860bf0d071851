import type en from '../en/files.ts'

export default {
  title: 'ファイル',
  empty: 'ファイルはまだありません',
} satisfies Record<keyof typeof en, unknown>
