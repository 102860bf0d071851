import type en from '../en/billing.ts'

export default {
  title: '請求',
  empty: '明細はまだありません',
} satisfies Record<keyof typeof en, unknown>
