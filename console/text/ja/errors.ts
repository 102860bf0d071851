export default {
  known: {
    agreement_required: '先に動画生成の利用規約に同意してください。',
    concurrency_limit_exceeded:
      'プランの同時実行数の上限に達しています。実行中の動画が終わってから再試行してください。',
    csrf_failed: 'このページからの操作を確認できませんでした。再読み込みしてからもう一度お試しください。',
    file_too_large: 'ファイルが 100 MB を超えています。',
    insufficient_credits: '残高が足りません。オーナーに残高の追加を依頼してください。',
    network_failed: 'サービスから応答がありません。接続を確認して再試行してください。',
    permission_denied: 'この操作の権限がありません。オーナーまたは管理者に依頼してください。',
    rate_limit_exceeded: '短時間に操作が集中しました。少し待ってから再試行してください。',
    server_error: 'サービス側で問題が発生しました。お問い合わせの際は下の番号をお知らせください。',
    server_is_overloaded: 'サービスが混み合っているか再起動中です。しばらくして再試行してください。',
    upstream_error: 'モデルサーバーでエラーが発生しました。再試行してください。',
    upstream_timeout: 'モデルサーバーが時間内に応答しませんでした。再試行してください。',
  },
}
