import type en from '../en/videos.ts'

export default {
  title: '動画',
  empty: '動画はまだありません',
} satisfies Record<keyof typeof en, unknown>
