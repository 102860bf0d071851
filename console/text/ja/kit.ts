export default {
  built_in: {
    sandbox:
      '内蔵のテスト用モデルです。同じ入力に必ず同じ回答を返し、費用をかけずにクライアントを開発できます。知能はありません。',
    storyboard:
      '内蔵のプレビュー用レンダラーです。プロンプト、フレーム、参照素材からアニマティックを作ります。生成モデルではありません。',
  },
  cancel: 'キャンセル',
  choose_file: 'ファイルを選択またはドロップ',
  choose_files: 'ファイルを選択またはドロップ（複数可）',
  close: '閉じる',
  copied: 'コピーしました',
  copy: 'コピー',
  copy_failed: 'ブラウザーがコピーを許可しませんでした。テキストを選択して手動でコピーしてください。',
  delete_own_only: '削除できるのは作成者、オーナー、管理者だけです',
  just_now: 'たった今',
  language: '言語',
  last_frame: '動画の最後のフレーム',
  last_frame_of: '「{{title}}」の最後のフレーム',
  load_more: 'さらに読み込む',
  notification: '通知',
  not_deleted: '削除できませんでした。',
  not_deleted_of: '{{total}} 件のうち {{n}} 件を削除できませんでした。',
  notifications: '通知一覧（{hotkey}）',
  retry: '再試行',
  show_password: 'パスワードを表示',
  soon: 'まもなく',
  still_deleting:
    '残り {{count}} 件を削除しています。プランの制限により時間がかかるため、コンソールを開いたままにしてください。',
  theme: 'テーマ',
  theme_dark: 'ダーク',
  theme_light: 'ライト',
  theme_system: 'システム',
  undo: '元に戻す',
  undo_hint:
    '10 秒以内に元に戻すには、入力欄の外で Ctrl+Z を押すか、F8 キーを押してから、Tab キーで「元に戻す」に移動してください。',
  undo_key: '元に戻す：{{key}}',
  restored: '元に戻しました。',
}
