import type en from '../en/settings.ts'

export default {
  title: '設定',
  empty: '設定項目はまだありません',
} satisfies Record<keyof typeof en, unknown>
