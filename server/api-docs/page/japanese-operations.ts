/** What the API says of its operations, in Japanese, by their English text. */
export const JAPANESE_OPERATIONS: Readonly<Record<string, string>> = {
  'Make a link that shows a completed video without an account': 'アカウントなしで完成した動画を見られるリンクを作る',
  'Members share their own videos; owners and admins all. The address is in this response and never again.':
    'メンバーは自分の動画を、オーナーと管理者はすべての動画を共有できます。アドレスはこのレスポンスだけに含まれ、二度と表示されません。',
  'List the share links of a video that have not ended, newest first': '動画の有効な共有リンクの一覧（新しい順）',
  'At most 20, each without its address.': '最大 20 件。アドレスは含まれません。',
  'Revoke a share link for good': '共有リンクを取り消す',
  'The next request for its page or its video is 404; a download that has begun goes on.':
    '以後、そのページと動画へのリクエストは 404 になります。始まっているダウンロードは続きます。',
  'List your conversations, pinned ones first': '自分の会話の一覧（ピン留めが先）',
  'Those with an answer, each by its last use; all, or those with a text in the title or a question.':
    '回答のある会話を、最後に使った順に返します。すべて、またはタイトルか質問に文字列を含むもの。',
  'Begin a conversation': '会話を始める',
  'Background responses whose metadata has its id as `conversation_id` are its answers.':
    'メタデータの `conversation_id` にその ID を持つバックグラウンドのレスポンスが、この会話の回答になります。',
  'Read a conversation': '会話を取得する',
  'Its title and settings.': 'タイトルと設定。',
  'Rename or pin a conversation, or change its settings': '会話の名前、ピン留め、設定を変更する',
  'Delete a conversation with its responses; a running one is cancelled first':
    '会話をレスポンスとともに削除する（実行中なら先に取り消す）',
  'Charges stay.': '請求は残ります。',
  'List what was asked and answered in a conversation, the oldest first': '会話の質問と回答の一覧（古い順）',
  'Versions of an answer continue the same response. A page has at most 50, and fewer long ones.':
    '回答の各バージョンは、同じレスポンスに続きます。1 ページは最大 50 件で、長いものは少なくなります。',
  'A multipart form with the bytes and a `purpose`. The media type is recognized from the bytes, and the file is deleted when it expires.':
    'バイト列と `purpose` を multipart フォームで送ります。メディアタイプは内容から判定され、期限が来るとファイルは削除されます。',
  'The files of your organization, newest first unless `order` says otherwise; `purpose` selects some of them.':
    '組織のファイル。`order` を指定しない限り新しい順です。`purpose` で絞り込めます。',
  'The metadata of one file of your organization, without its bytes.':
    '組織のファイル 1 つの情報（内容は含みません）。',
  'The bytes as they were uploaded, under the media type that was recognized. Byte ranges and `If-None-Match` work.':
    'アップロードされたままの内容を、判定されたメディアタイプで返します。バイト範囲と `If-None-Match` に対応しています。',
  'The file can no longer be referred to. Jobs that have begun keep their own reference to it until they end.':
    '以後このファイルは参照できません。すでに始まったジョブは、終わるまで参照を保持します。',
  'The cost is reserved from the balance and a render slot is taken, or the job does not exist. Poll the job, or receive a webhook, until it has ended.':
    '費用を残高から確保し、レンダリング枠を取ります。できなければジョブは作られません。終了までジョブを取得し続けるか、Webhook で受け取ります。',
  'Make a file of the last frame of a completed video': '完了した動画の最後のフレームをファイルにする',
  'A picture with purpose `vision`, as a first frame has. The same file is returned for as long as it lives; a new one belongs to you and counts as an upload of yours.':
    '最初のフレームに使える、用途 `vision` の画像です。ファイルがある間は同じものを返します。新しく作られたファイルは、自分がアップロードしたものとして扱われます。',
  'Submit 1 to 4 video jobs of one request, all or none':
    '1 つのリクエストから 1〜4 件の動画ジョブを送信する（すべて作成するか、1 件も作成しない）',
  'As `POST /v1/videos`, with `count` in its body. The cost of all of them is reserved and a render slot is taken for each, or none of them exists.':
    '本文に `count` を加えた `POST /v1/videos` です。全件の費用を残高から確保し、1 件ごとにレンダリング枠を取ります。できなければ 1 件も作られません。',
  'Id of the video whose request, or last frame, this one was made from. Forgotten where the organization has no such video.':
    '元にした動画の ID（リクエストまたは最後のフレームを使ったもの）。組織にその動画がなければ記録されません。',
  'What a video was made from, and the newest one made from it':
    '動画の元になった動画と、その動画から作られた最新の動画',
  'As `made_from` of `POST /console/videos/variations` said. What is gone is null.':
    '`POST /console/videos/variations` の `made_from` に指定されたもの。すでにないものは null です。',
  'Id of the video it was made from.': '元になった動画の ID。',
  'Id of the newest video made from it.': 'この動画から作られた最新の動画の ID。',
  'How many jobs to create of this request.': 'このリクエストから作成するジョブの数。',
  'In the order of their ids; they differ in nothing else.': 'ID の順。ID 以外に違いはありません。',
  'The jobs of your organization, a page at a time.': '組織のジョブをページごとに返します。',
  'Each with its price for a second, its lengths, aspect ratios and inputs.':
    'モデルごとに、1 秒あたりの料金、長さ、アスペクト比、入力を示します。',
  'One model of your plan, with its price and what it accepts.': 'プランのモデル 1 つの料金と、受け付ける入力。',
  'Every person agrees for themselves, and again when the terms change. Jobs cannot be submitted before.':
    '同意は人ごとに必要で、規約が変わると改めて必要です。同意するまでジョブは送信できません。',
  'Names the version that was read; another than the one in force is rejected.':
    '読んだ版を指定します。現在の版でなければ拒否されます。',
  'What was reserved for the job is released. A job that was canceled before is returned as it is.':
    'ジョブのために確保されていた金額は解放されます。すでに取り消されたジョブはそのまま返されます。',
  'The video, thumbnail and spritesheet are deleted; charges stay in the ledger.':
    '動画、サムネイル、スプライトシートを削除します。請求は台帳に残ります。',
  'Its status, progress and cost. `openai-poll-after-ms` says how long to wait before the next poll.':
    '状態、進捗、費用。次に取得するまでの待ち時間は `openai-poll-after-ms` で示されます。',
  '`variant` chooses which. Before the job is completed this is 400.':
    '`variant` で選びます。ジョブが完了するまでは 400 です。',
  'Each with its capabilities, context length and prices.': 'モデルごとに、機能、コンテキスト長、料金を示します。',
  'One model of your plan, with its capabilities and prices.': 'プランのモデル 1 つの機能と料金。',
  "The request and response of OpenAI's chat completions. The tokens are charged before the response ends.":
    'リクエストとレスポンスは OpenAI のチャット補完と同じ形です。応答が終わる前にトークンが請求されます。',
  "The request and response of OpenAI's responses. It is stored for 30 days unless `store` is false.":
    'リクエストとレスポンスは OpenAI の Responses と同じ形です。`store` が false でなければ 30 日間保存されます。',
  'Each `response.create` message on the connection is answered by the events of one response.':
    '接続上の `response.create` メッセージごとに、1 つのレスポンスのイベントが返ります。',
  'Takes the body of a response, with its history and tools. Nothing is charged.':
    '履歴とツールを含む、レスポンスの本文を受け取ります。請求はされません。',
  'The output is the input of the next request. The tokens of the summary are charged.':
    '出力は次のリクエストの入力になります。要約のトークンが請求されます。',
  'Only the person who made it can read it. A background response streams its events as they come.':
    '作成した本人だけが読めます。バックグラウンドのレスポンスは、イベントを発生順に受け取れます。',
  'Its items cannot be continued from afterwards.': '以後、その項目から会話を続けることはできません。',
  'What was produced so far is charged. A response that has ended is returned as it is.':
    'それまでに生成された分は請求されます。終了したレスポンスはそのまま返されます。',
  'The input items of a stored response, the newest first unless `order` says otherwise.':
    '保存されたレスポンスの入力項目。`order` を指定しない限り新しい順です。',
  'A public `https` URL and the types of events it is sent. The signing secret is shown here and never again.':
    '公開の `https` URL と、送信するイベントの種類を指定します。署名シークレットが表示されるのはここだけです。',
  'Those of your organization, without their secrets.': '組織のエンドポイント（シークレットは含みません）。',
  'Whether it is enabled, and why not.': '有効かどうか、無効ならその理由を示します。',
  'Only the members that are sent are changed.': '送った項目だけが変更されます。',
  'Deliveries that are pending are not sent.': '送信待ちの配信は送られません。',
  'The previous secret can sign beside the new one for 24 hours.': '以前のシークレットも 24 時間は併用できます。',
  'It is sent at once, and the answer says what the receiver answered.': 'すぐに送信され、受信側の応答が返ります。',
  'Each delivery with its attempts, its last status and the time of the next attempt.':
    '配信ごとに、試行の回数、最後のステータス、次の試行の時刻を示します。',
  'They keep their ids, so a receiver recognizes what it has seen.':
    'イベントの ID は変わらないため、受信側は重複を判別できます。',
  'The same for every organization.': 'どの組織でも同じです。',
  'Sets the session cookie, or asks for the second factor where it is on. Failed attempts are limited.':
    'セッションの Cookie を設定します。二要素認証が有効な場合は、その入力を求めます。失敗の回数には上限があります。',
  'Clears the session cookie. Other sessions of yours go on.':
    'セッションの Cookie を消します。ほかのセッションは続きます。',
  'With the other organizations the person belongs to.': '所属するほかの組織も示します。',
  'Later calls of this session act in that organization.': '以後このセッションの呼び出しは、その組織で行われます。',
  'Whether by a password, an identity provider or both.': 'パスワード、ID プロバイダー、またはその両方。',
  'It is shown to the people of your organizations.': '所属する組織の人に表示されます。',
  'Needs the present password.': '現在のパスワードが必要です。',
  'Each with the time of its last use.': 'それぞれの最終利用時刻を示します。',
  'That browser has to sign in again.': 'そのブラウザーでは改めてサインインが必要です。',
  'The answer says how many there were.': '終了したセッションの数が返ります。',
  'A code of the app, or a recovery code, after the password was accepted.':
    'パスワードが受け付けられた後に、認証アプリのコードかリカバリーコードを送ります。',
  'With the number of recovery codes that are left.': '残っているリカバリーコードの数も示します。',
  'Replaces a secret that was not confirmed.': '確認されていないシークレットは置き換えられます。',
  'The recovery codes in the answer are not shown again.': '応答のリカバリーコードは二度と表示されません。',
  'Needs the password and a code.': 'パスワードとコードが必要です。',
  'Those of before are no longer good.': '以前のコードは使えなくなります。',
  'The browser is redirected there, and comes back to the callback.':
    'ブラウザーは ID プロバイダーへ移動し、コールバックに戻ります。',
  'Checks what the provider says and signs the person in.': 'プロバイダーの応答を確認し、サインインを完了します。',
  'Only a hint of each key is shown.': 'キーは一部だけが表示されます。',
  'The key is shown in this answer and never again.': 'キーが表示されるのはこの応答だけです。',
  'Calls with it are rejected within seconds.': '数秒以内に、そのキーによる呼び出しは拒否されます。',
  'Whether members may delete what others have made.': 'ほかの人が作成したものをメンバーが削除できるかどうか。',
  'For owners and admins.': 'オーナーと管理者のみ。',
  'What these videos are called, their tags, and whether they are favorites of yours':
    '動画の名前、タグ、自分のお気に入りかどうか',
  'Name and tag videos, and make them favorites of yours': '動画に名前とタグを付け、自分のお気に入りにする',
  'Only the members that are sent are changed, of all the videos or of none. Everybody in the organization sees names and tags, and may change them.':
    '送信した項目だけを、すべての動画で変更します（1 本でも変更できなければ何も変更しません）。名前とタグは組織の全員が閲覧・変更できます。',
  'Download the clips of several videos as one ZIP archive': '複数の動画を 1 つの ZIP ファイルでダウンロードする',
  'Stored, not compressed. `manifest.json` in it has the id of each file, and the videos without a clip, which are left out. 400 when none has one.':
    '圧縮せずに格納します。中の `manifest.json` に、各ファイルの ID と、動画がなく含まれなかったものがあります。1 本もなければ 400 です。',
  'Which tags the videos of this organization have': 'この組織の動画に付いているタグ',
  'The most used first, of the newest 5,000 videos with a name or tags; at most 500.':
    '名前かタグのある新しい動画 5,000 本のタグを、多く使われている順に最大 500 個返します。',
  'What is gone, or another organization’s, is left out.': 'すでにないものや、ほかの組織のものは含まれません。',
  'From the last 50 completed jobs of the model with this length and aspect ratio.':
    'このモデル、長さ、アスペクト比で最近完成した 50 件から求めます。',
  'For a chat completion of your own, with the instruction as system message.':
    '自分のチャット補完で、指示を system メッセージとして使います。',
  'Each with their role.': 'それぞれのロールも示します。',
  'The last owner of an organization keeps that role.': '組織の最後のオーナーのロールは変更できません。',
  'Their API keys in it are revoked.': 'この組織でのその人の API キーは無効になります。',
  'Those that were not accepted and have not expired.': 'まだ受けられておらず、期限も切れていない招待。',
  'No mail is sent. The address is shown in this answer and never again.':
    'メールは送信されません。アドレスが表示されるのはこの応答だけです。',
  'Its address no longer works.': '招待のアドレスは使えなくなります。',
  'The organization, the role, and whether the address has an account.':
    '組織、ロール、そのアドレスのアカウントの有無。',
  'Signs a new person in.': '新しい人の場合はサインインも行います。',
  'Changes by people, by API keys and by operators.': 'メンバー、API キー、運用者による変更。',
  'Available is the balance less what is held.': '利用可能額は、残高から確保額を引いたものです。',
  'Grants and charges, each with what it was for. They are never changed.':
    '付与と請求の記録で、それぞれの対象を示します。記録が変更されることはありません。',
  'The period is chosen by `from` and `to`.': '期間は `from` と `to` で指定します。',
  'Days are of UTC.': '日付は UTC です。',
  'Takes the same query.': '同じクエリを受け取ります。',
  'Without a credential: the address, the terms, and the ways of signing in.':
    '認証なしで、アドレス、規約、サインインの方法を返します。',
  'Server-sent events for as long as the connection is open.': '接続が開いている間、サーバー送信イベントが送られます。',
  'For a first sign-in of somebody whom several organizations invite.':
    '複数の組織から招待されている人が初めてサインインするときに使います。',
  'Signs the person in.': 'その人をサインインさせます。',
  'The address that they are for.': '招待の宛先のメールアドレス。',
  'Email address of the person.': 'その人のメールアドレス。',
  'The newest first.': '新しい順。',
  'Read a delivery with what was sent and answered': '配信を、送信内容と応答とともに読み取る',
  'Its last ten attempts, each with the request and the beginning of the answer.':
    '直近 10 回の試行。それぞれのリクエストと、応答の先頭を含みます。',
}
