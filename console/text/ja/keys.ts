import type en from '../en/keys.ts'

export default {
  title: 'API キー',
  empty: 'API キーはまだありません',
} satisfies Record<keyof typeof en, unknown>
