import type en from '../en/chat.ts'

export default {
  title: 'チャット',
  empty: '会話はまだありません',
} satisfies Record<keyof typeof en, unknown>
