import type en from '../../en/videos/estimate.ts'

/** How long a video is likely to take. */
export default {
  seconds: '{{n}} 秒',
  minutes: '{{n}} 分',
  total: '所要時間は約 {{typical}}（通常 {{low}}〜{{high}}）です。',
  total_alike: '所要時間は約 {{typical}}です。',
  waiting: 'うち約 {{typical}}はレンダラーの空き待ちです。',
} satisfies Record<keyof typeof en, unknown>
