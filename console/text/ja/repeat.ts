import type en from '../en/repeat.ts'

/** What can be done with a clip to make the next one. */
export default {
  next: '次の動画を作る',
  vary: 'バリエーションを作る',
  vary_hint: 'リクエストをフォームに写し、3 本にします。',
} satisfies Record<keyof typeof en, unknown>
