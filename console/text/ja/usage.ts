import type en from '../en/usage.ts'

export default {
  title: '利用状況',
  empty: 'まだ利用がありません',
} satisfies Record<keyof typeof en, unknown>
