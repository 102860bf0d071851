import type en from '../../en/videos/clips.ts'

/** 動画の名前、タグ、お気に入りと、複数の動画の操作のための文言。 */
export default {
  favorite: 'お気に入り：{{name}}',
  title: '名前とタグ',
  name: '名前',
  name_placeholder: '名前なし',
  tags: 'タグ',
  tag_placeholder: 'タグを追加',
  tags_full: 'タグは 1 本の動画に {{count}} 個までです。',
  remove_tag: 'タグ「{{tag}}」を外す',
  shared: '組織の全員に表示されます。',

  filter_tag: 'タグ',
  any_tag: 'すべてのタグ',
  filter_favorite: 'お気に入り',
  all_videos: 'すべての動画',
  only_favorites: '自分のお気に入り',
} satisfies Record<keyof typeof en, unknown>
