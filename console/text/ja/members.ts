import type en from '../en/members.ts'

export default {
  title: 'メンバー',
  empty: 'ほかのメンバーはまだいません',
} satisfies Record<keyof typeof en, unknown>
