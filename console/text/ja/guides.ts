import type en from '../en/guides.ts'

export default {
  title: 'ドキュメント',
  empty: 'ガイドはまだありません',
} satisfies Record<keyof typeof en, unknown>
