import { JAPANESE_OPERATIONS } from './japanese-operations.ts'

/**
 * What the API says of itself, in Japanese: summaries of routes, descriptions of parts and fields, by their English text. A test
 * finds those that are missing.
 */
export const JAPANESE: Readonly<Record<string, string>> = {
  ...JAPANESE_OPERATIONS,
  'When a message was last sent.': '最後にメッセージを送った時刻。',
  'When it is deleted, unless another message is sent.': '次のメッセージを送らない場合に削除される時刻。',
  'Only those with this text in their title or in what you wrote.': 'タイトルか自分の質問にこの文字列を含むもののみ。',
  'The response.': 'レスポンス。',
  'Its entry in the ledger; null while there is none.': '台帳の記録。まだなければ null。',
  'Asynchronous video jobs: submit, poll, download.': '非同期の動画ジョブ：送信、状態の確認、ダウンロード。',
  'Images, videos, audio and documents that jobs and messages refer to.':
    'ジョブやメッセージから参照する画像、動画、音声、文書。',
  'Chat completions.': 'チャット補完。',
  'Responses.': 'レスポンス。',
  'Chat models of your plan.': 'プランで使えるチャットモデル。',
  'Where events are delivered.': 'イベントの配信先。',
  'Signing in, API keys, people, balance and usage. Called with a console login.':
    'サインイン、API キー、メンバー、残高、利用状況。コンソールへのサインインで呼び出します。',

  'Upload a file': 'ファイルをアップロードする',
  'List files': 'ファイルの一覧',
  'Read a file': 'ファイルの情報を取得する',
  'Delete a file': 'ファイルを削除する',
  'Download the bytes of a file': 'ファイルの内容をダウンロードする',
  'Submit a video job': '動画ジョブを送信する',
  'List video jobs, newest first, all or by status, model, person, time, cost, text, tag and favorites':
    '動画ジョブの一覧（新しい順。状態、モデル、人、時刻、費用、文字列、タグ、お気に入りで絞り込み可）',
  'Only jobs that this person has submitted.': 'この人が送信したジョブのみ。',
  'Only jobs created at this time or later, in Unix seconds.': 'この時刻以降に作成されたジョブのみ（Unix 秒）。',
  'Only jobs created before this time, in Unix seconds.': 'この時刻より前に作成されたジョブのみ（Unix 秒）。',
  'Only jobs that cost this much or more: a decimal.': '費用がこの額以上のジョブのみ（小数）。',
  'Only jobs that cost this much or less: a decimal.': '費用がこの額以下のジョブのみ（小数）。',
  'Only jobs with this text in their prompt, their name or a tag, in any case. A page looks at 5,000 jobs at most: it may have fewer elements than `limit`, or none, although `has_more` is true. Go on after `last_id`.':
    'プロンプト、名前、タグのいずれかにこの文字列を含むジョブのみ（大文字と小文字は区別しません）。1 ページで調べるジョブは最大 5,000 件なので、`has_more` が true でも `limit` より少ないことや、空のことがあります。`last_id` の後から続けてください。',
  'Only jobs with this tag, in any case.': 'このタグの付いたジョブのみ（大文字と小文字は区別しません）。',
  'Only favorites of the person who asks, or whose API key it is.':
    '呼び出した人（API キーではその持ち主）のお気に入りのみ。',
  'Who has submitted the videos of this organization': 'この組織の動画を送信した人の一覧',
  'People whose videos are still there, at most 500 of them.': '動画が残っている人（最大 500 人）。',
  'Of the person.': '人の ID。',
  'Read a video model': '動画モデルを取得する',
  'Only jobs with one of these, with commas between: moderating, translating, queued, in_progress, completed, failed, canceled.':
    'この状態のジョブのみ。コンマ区切りで複数指定可：moderating, translating, queued, in_progress, completed, failed, canceled。',
  'Only jobs of this video model.': 'この動画モデルのジョブのみ。',
  'What a job may refer to.': 'ジョブで参照できるもの。',
  'References of a job; files counts all together.': 'ジョブの参照素材の上限。files は全種類の合計。',
  'Whether a render can be stopped: any, only until it begins, or not at all.':
    'レンダリングを止められるか。any はいつでも、queued は開始前のみ、none は不可。',
  'List the video models of your plan': 'プランで使える動画モデルの一覧',
  'Whether you have agreed to the video terms': '動画の利用規約に同意しているかどうか',
  'Agree to the video terms, from a console login only': '動画の利用規約に同意する（コンソールのサインインのみ）',
  'Read a job': 'ジョブを取得する',
  'Delete a job that has ended, with its video': '終了したジョブを動画とともに削除する',
  'Download the MP4 of a completed job, its thumbnail or its spritesheet; byte ranges work':
    '完成したジョブの MP4、サムネイル、スプライトシートをダウンロードする（バイト範囲に対応）',
  'Cancel a job that has not ended; 409 when its engine cannot stop a render that has begun':
    '終了していないジョブを取り消す（始まったレンダリングをエンジンが止められないときは 409）',
  'List the chat models of your plan': 'プランで使えるチャットモデルの一覧',
  'Read a chat model': 'チャットモデルを取得する',
  'Create a chat completion, plain or streamed': 'チャット補完を作成する（一括またはストリーミング）',
  'Create a response: plain, streamed or in the background':
    'レスポンスを作成する（一括、ストリーミング、バックグラウンド）',
  'Open a WebSocket of responses': 'レスポンスの WebSocket を開く',
  'Count the input tokens of a response without making it': 'レスポンスを作成せずに入力トークンを数える',
  'Replace everything but the messages of the user with a summary': '利用者のメッセージ以外を要約に置き換える',
  'Read a stored response, plain or as events': '保存されたレスポンスを取得する（一括またはイベント）',
  'Delete a stored response; a running one is cancelled first':
    '保存されたレスポンスを削除する（実行中なら先に取り消す）',
  'Cancel a background response': 'バックグラウンドのレスポンスを取り消す',
  'List what a response was asked with': 'レスポンスの入力の一覧',
  'What can be delivered.': '配信できるもの。',
  'Create a webhook endpoint': 'Webhook エンドポイントを作成する',
  'List webhook endpoints': 'Webhook エンドポイントの一覧',
  'Read a webhook endpoint': 'Webhook エンドポイントを取得する',
  'Change a webhook endpoint, or turn it on or off': 'Webhook エンドポイントを変更する、有効または無効にする',
  'Delete a webhook endpoint': 'Webhook エンドポイントを削除する',
  'Give a webhook endpoint a new signing secret': 'Webhook エンドポイントの署名シークレットを新しくする',
  'Send a sample event to a webhook endpoint': 'Webhook エンドポイントにサンプルイベントを送信する',
  'List what was sent to a webhook endpoint, and what will be': 'Webhook エンドポイントへの配信の一覧（済みと予定）',
  'Send one event, or all since a time, again': '1 つのイベント、またはある時刻以降のすべてを再送する',
  'List the types of events that webhook endpoints can listen to':
    'Webhook エンドポイントが受け取れるイベントの種類の一覧',
  'https, at a public address, on port 443.': '公開アドレスの https URL（ポート 443）。',
  'The balance, as a decimal string, at which `balance.low` is sent. Default 10.':
    '`balance.low` が送信される残高（10 進数の文字列）。既定値は 10。',
  'Events are recorded while this is off, and can be sent later by `redeliver`.':
    '無効の間もイベントは記録され、後で `redeliver` によって送信できます。',
  'Whether the previous secret signs too for 24 hours. Default false.':
    '以前のシークレットでも 24 時間署名するかどうか。既定値は false。',
  'One event. Instead of `since`.': '1 つのイベント。`since` の代わりに指定します。',
  'Unix seconds: every event since then. Instead of `event_id`.':
    'Unix 秒。その時刻以降のすべてのイベント。`event_id` の代わりに指定します。',
  'With `since`: leaves out what has arrived already. Default false.':
    '`since` とともに指定すると、すでに届いたものを除きます。既定値は false。',
  'The balance at which `balance.low` is sent.': '`balance.low` が送信される残高。',
  'The end of the signing secret.': '署名シークレットの末尾。',
  'Why it is off: somebody turned it off, it answered 410, or it failed for five days.':
    '無効の理由：手動、410 の応答、または 5 日間の失敗。',
  'The first attempt that failed since the last one that succeeded.': '最後に成功した試行の後、最初に失敗した試行。',
  'Until when the previous secret signs too.': '以前のシークレットでも署名する期限。',
  'Shown here and never again.': 'ここでのみ表示されます。',
  'Of the answer; null when there was none.': '応答のステータス。応答がなければ null。',
  'Whether the status is 2xx.': 'ステータスが 2xx かどうか。',
  'What went wrong.': '失敗の理由。',
  'The id of the event, which its receiver gets as `webhook-id`.':
    'イベントの ID。受信側には `webhook-id` として届きます。',
  'When the event happened.': 'イベントの発生時刻。',
  'Of the last answer; null when there was none.': '最後の応答のステータス。応答がなければ null。',
  'The body that every attempt sends.': 'どの試行でも送信される本文。',
  'Which attempt it was, from 1.': '何回目の試行か（1 から）。',
  'With the signature masked.': '署名は伏せられています。',
  'Some headers of the answer; null when there was none.': '応答のヘッダーの一部。応答がなければ null。',
  'At most the first 1024 bytes of the answer; null when there was none.':
    '応答の先頭（最大 1024 バイト）。応答がなければ null。',
  'The last ten attempts, the newest first.': '直近 10 回の試行（新しい順）。',
  'What went wrong in the last attempt.': '最後の試行が失敗した理由。',
  'Null when there is none.': 'なければ null。',
  'How many events are sent again.': '再送するイベントの数。',
  'Go to the identity provider': 'ID プロバイダーへ移動する',
  'Come back from the identity provider': 'ID プロバイダーから戻る',
  'Sign in to the console': 'コンソールにサインインする',
  'End this console session': 'このコンソールのセッションを終了する',
  'Who is signed in, and in which organization': 'サインインしている人と組織',
  'Switch this session to another organization of yours': 'このセッションを所属する別の組織に切り替える',
  'Preview an invitation, for the person who holds its token': '招待の内容（トークンを持つ本人向け）',
  'Accept an invitation, as a new person or as the one who is signed in':
    '招待を受ける（新しい人として、またはサインイン中の人として）',
  'List the invitations to choose from, after the identity provider': '選択できる招待を一覧する（ID プロバイダーの後）',
  'Accept one of several invitations, after the identity provider':
    '複数の招待から 1 つを受ける（ID プロバイダーの後）',
  'Your own name, and how you sign in': '自分の名前とサインインの方法',
  'Change your own name': '自分の名前を変更する',
  'Change your password; every other session of yours ends':
    'パスワードを変更する（自分のほかのセッションはすべて終了）',
  'List the browsers you are signed in with': 'サインインしているブラウザーの一覧',
  'End every session of yours but this one': 'このセッション以外の自分のセッションをすべて終了する',
  'End one of your sessions': '自分のセッションを 1 つ終了する',
  'Complete a sign-in with the second factor': '二要素認証でサインインを完了する',
  'Whether your second factor is on': '二要素認証が有効かどうか',
  'Get a secret for an app; it counts once confirmed': '認証アプリ用のシークレットを取得する（確認後に有効）',
  'Turn the second factor on with a first code; every other session of yours ends':
    '最初のコードで 二要素認証を有効にする（自分のほかのセッションはすべて終了）',
  'Turn the second factor off; every other session of yours ends':
    '二要素認証を無効にする（自分のほかのセッションはすべて終了）',
  'Replace your recovery codes': 'リカバリーコードを作り直す',
  'List API keys: your own, and everybody’s for owners and admins':
    'API キーの一覧（自分のキー。オーナーと管理者は全員のキー）',
  'Make an API key for yourself in this organization': 'この組織で自分の API キーを作成する',
  'Revoke an API key for good': 'API キーを無効にする（元には戻せません）',
  'Read the settings of this organization': 'この組織の設定を取得する',
  'Change the settings of this organization': 'この組織の設定を変更する',
  'Which videos and files members may delete: their own, or those of everybody. Owners and admins may delete all.':
    'メンバーが削除できる動画とファイル：own は自分のもの、all は全員のもの。オーナーと管理者はすべて削除できます。',
  'Who made these videos and files of this organization': 'この組織の動画とファイルを作成した人',
  'Ids of videos and files, with commas between, at most 200.': '動画とファイルの ID。コンマ区切りで 200 件まで。',
  'Of the video or file.': '動画またはファイルの ID。',
  'Ids of videos, with commas between, at most 100.': '動画の ID。コンマ区切りで 100 件まで。',
  'Of the video.': '動画の ID。',
  'Of the person who asks.': '呼び出した人のお気に入りかどうか。',
  'Ids of videos, with commas between, at most 200.': '動画の ID。コンマ区切りで 200 件まで。',
  'Of the videos that are changed.': '変更する動画の ID。',
  'Empty for none.': '空にすると名前がなくなります。',
  'In place of those there are; case makes no difference between two.':
    '今のタグを置き換えます。大文字と小文字だけが違うタグは同じものです。',
  'Besides those there are: a video has 20 at most.': '今のタグに追加します。1 本の動画に 20 個まで。',
  'Whether they are favorites of yours.': '自分のお気に入りにするかどうか。',
  'The tag itself.': 'タグそのもの。',
  'How long a video is likely to take': '動画の作成にかかる時間の目安',
  'Median, and what nine of ten exceed and stay below; null with fewer than five jobs that count.':
    '中央値と、10 件中 9 件が上回る値・下回る値。対象のジョブが 5 件未満の場合は null。',
  'Which chat model improves prompts for a video model, and how':
    '動画モデルのプロンプトを改善するチャットモデルと、その指示',
  'Null where there is none, or the plan does not include it.': '指定がない場合と、プランに含まれない場合は null。',
  'List the people of this organization': 'この組織のメンバーの一覧',
  'Give a person another role': 'メンバーの権限を変更する',
  'Remove a member from this organization': 'この組織からメンバーを削除する',
  'List open invitations': '未使用の招待の一覧',
  'Invite a person; give them the address in the answer': 'メンバーを招待する（応答のアドレスを本人に渡す）',
  'Withdraw an open invitation': '未使用の招待を取り消す',
  "The organization's balance, what is held for jobs in flight, and what is available":
    '組織の残高、処理中のジョブのために確保されている金額、利用可能額',
  'Ledger entries, newest first': '台帳の記録（新しい順）',
  'Ledger entries of a period as CSV, oldest first': '期間内の台帳の記録の CSV（古い順）',
  'Sums of what was charged, by day, model, key or person, or by two of them':
    '請求額の合計（日、モデル、キー、メンバー、またはそのうち 2 つの組み合わせ）',
  'The same sums as CSV': '同じ合計の CSV',
  'A chat model improves video prompts, for plans that include it.':
    'チャットモデルが動画のプロンプトを改善します（プランに含まれる場合）。',
  'Longest life of a share link; null where clips cannot be shared.':
    '共有リンクの最長の有効期間。動画を共有できない場合は null。',
  'At most what the operator allows; the link ends earlier when the clip is deleted.':
    '運営者が許可する日数まで。動画が削除されると、リンクはそれより早く終了します。',
  'Whether the page offers to download the clip. Default false.':
    'ページに動画のダウンロードを表示するかどうか。既定値は false。',
  'The last four characters of its address.': 'アドレスの最後の 4 文字。',
  'Its address. Shown only once.': 'アドレス。表示されるのは一度だけです。',
  'Of the URL it was sent to.': '送信先 URL のオリジン。',
  'Japanese video prompts are translated; when false, their jobs fail.':
    '日本語の動画プロンプトが翻訳されるかどうか。翻訳されない場合、そのジョブは失敗します。',
  'What the sign-in page needs to know of this service': 'サインインページに必要なサービスの情報',
  'Stream changes of video jobs and of the balance': '動画ジョブと残高の変化を受け取る',

  'The bytes, at most 100,000,000. Exactly one file part.': '内容。最大 100,000,000 バイト。ファイルは 1 つだけ。',
  'Id of the last element of the page before.': '前のページの最後の要素の ID。',
  'Newest first, or oldest.': '新しい順、または古い順。',
  'One range, such as `bytes=0-1023`.': '1 つの範囲。例：`bytes=0-1023`。',
  'The `ETag` the range belongs to.': '範囲の元になる `ETag`。',
  'The `ETag` you have.': '手元にある `ETag`。',
  'The same key with the same body gives the same job for 24 hours: send one, so that a lost answer costs nothing twice.':
    '24 時間以内に同じキーと同じ本文を送ると、同じジョブが返ります。応答が失われても二重に請求されないよう、付けて送ってください。',
  'Id of a video model.': '動画モデルの ID。',
  '1 to 7000 code points, not blank. Dialogue stands in <d>…</d>.':
    '1〜7000 文字（コードポイント）。空白のみは不可。セリフは <d>…</d> で囲みます。',
  'First frame, last frame or both. Not together with references.':
    '最初のフレーム、最後のフレーム、または両方。参照素材とは併用できません。',
  'At least one image or video.': '画像か動画が 1 つ以上必要です。',
  'The members of the JSON body as fields; objects, and lists of them, as parts of JSON. Or those of the OpenAI videos API: `size` (`720x1280`, `1280x720`, `1024x1792` or `1792x1024`) in place of `aspect_ratio`, and `input_reference`, a picture, as the first frame; `seconds` is then 4 by default.':
    'JSON の本文と同じ項目をフィールドで送ります。オブジェクトとその配列は JSON のパートにします。OpenAI の動画 API の項目も使えます。`aspect_ratio` の代わりの `size`（`720x1280`、`1280x720`、`1024x1792`、`1792x1024`）と、最初のフレームになる画像の `input_reference` です。その場合 `seconds` の既定値は 4 です。',
  'Default video.': '既定値は video。',
  'Keys of 1 to 64 characters.': 'キーは 1〜64 文字。',
  'Send it back with the call: some models require it.':
    '呼び出しと一緒にそのまま返してください。これを必要とするモデルがあります。',
  'Ignored: we detect the format from the bytes.': '実際の形式は内容から判定されます。',
  'Values as on create. What was stored is returned in any case.':
    '値は作成時と同じ。保存された内容は常に表示されます。',
  'Streams the response as events.': 'イベントとして送られます。',
  'Only events after this `sequence_number`.': 'この `sequence_number` より後のイベントのみ。',
  'Six digits of the app.': '認証アプリの 6 桁の数字。',
  'Instead of a code; good once.': 'コードの代わり。1 回だけ使えます。',
  'Unix seconds; default the first entry.': 'Unix 秒。既定値は最初の記録の時刻。',
  'Unix seconds, not included; default now.': 'Unix 秒（その時刻は含まない）。既定値は現在。',
  'Unix seconds; default 30 days before `to`.': 'Unix 秒。既定値は `to` の 30 日前。',
  'One of four, or two of them: the second within the first.':
    '4 つのうち 1 つ、または 2 つ（2 つ目は 1 つ目の内訳）。',
  'For people; names the remedy.': '人が読むための説明。対処方法を示します。',
  'The field, such as `references.images[0].file_id`.': '問題のあるフィールド。例：`references.images[0].file_id`。',
  'For programs.': 'プログラムが読むための値。',
  'Prefix and last four characters.': '接頭辞と末尾の 4 文字。',
  'Unix seconds.': 'Unix 秒。',
  'Decimal string with 8 fraction digits.': '小数 8 桁の 10 進数の文字列。',
  'Of the service.': 'サービスのもの。',
  'Where clients reach the API, without `/v1`.': 'クライアントが API に接続するアドレス（`/v1` を除く）。',
  'The video terms in force.': '現在の動画の利用規約。',
  'The identity provider people may sign in with.': 'サインインに使える ID プロバイダー。',
  'People may protect their login with a second factor.': '二要素認証を使えるかどうか。',
  'Shown this once.': '表示されるのはこの 1 回だけです。',
  'Id of the person.': 'メンバーの ID。',
  'To hand over: it holds the token.': '本人に渡すアドレス。トークンを含みます。',
  'Equal to `id`.': '`id` と同じ。',
  'The address it is for.': '招待されたアドレス。',
  'The address has an account here: its password is asked for, not a new one.':
    'このアドレスのアカウントがすでにあるかどうか。ある場合は新しいパスワードではなく、そのパスワードを使います。',
  'Of the person, if you may see it.': 'メンバーの名前（知ることができる場合）。',
  'Of the key, if you may see it.': 'キーの名前（知ることができる場合）。',
  'The one that asks.': '呼び出し元のセッションかどうか。',
  'What the browser called itself when it signed in.': 'サインイン時にブラウザーが名乗った名前。',
  'When it ends if it is not used.': '使われない場合に終了する時刻。',
  'Equals `id`.': '`id` と同じ。',
  'The day on which the model ends, as YYYY-MM-DD.': 'モデルの提供終了日（YYYY-MM-DD）。',
  'Answers come from the embedded sandbox: for building clients.':
    '組み込みのサンドボックスによる回答かどうか。クライアント開発用です。',
  'Decimal string with 8 fraction digits, for a million tokens.':
    '100 万トークンあたりの、小数 8 桁の 10 進数の文字列。',
  'Signs in with a password.': 'パスワードでサインインするかどうか。',
  'Signs in with the identity provider.': 'ID プロバイダーでサインインするかどうか。',
  'Signing in with the password needs a second factor.': 'パスワードでのサインインに 二要素認証が必要かどうか。',
  'Each signs in once instead of a code. Shown this once.':
    'コードの代わりに、それぞれ 1 回だけサインインに使えます。表示されるのはこの 1 回だけです。',
  'Base32, to type into an app. Shown this once.': '認証アプリに入力する Base32。表示されるのはこの 1 回だけです。',
  'The same as an otpauth URI, to show as a QR code.': '同じ内容の otpauth URI。QR コードとして表示します。',
  'Bytes that the organization stores now, whatever the period.':
    '組織が現在保存しているバイト数。期間にはよりません。',
  'Webhook events and moderation records, which are kept for 30 days.':
    '30日間保存されるWebhookイベントとモデレーションの記録。',
  'Of all together; null if there is none.': 'すべての合計の上限。なければ null。',
  'Of the model, key or person, if you may see it.': 'モデル、キー、メンバーの名前（知ることができる場合）。',
  'Decimal string with 8 fraction digits, fixed at submission.': '小数 8 桁の 10 進数の文字列。送信時に確定します。',
  'With moderation_blocked: the categories of the deny list that the prompt is in, where they have names.':
    'moderation_blocked の場合：プロンプトが該当した拒否リストのカテゴリ（名前があるもの）。',
  'As submitted; the files may be gone since. Null when there were none.':
    '送信したとおりのファイル（その後、削除されたか期限切れの場合があります）。ファイルがなければ null。',
  'As submitted, without empty lists; the files may be gone since. Null when there were none.':
    '送信したとおりのファイル（空のリストは省かれ、ファイルはその後、削除されたか期限切れの場合があります）。ファイルがなければ null。',
  'List who changed what in this organization, newest first': 'この組織で誰が何を変更したかの一覧（新しい順）',
  'Null once the account has ended.': 'アカウントがなくなった後は null。',
  'Of the API key it was done with; null in the console.':
    '操作に使われた API キーの表示。コンソールでの操作では null。',
  'What was done, such as member.role.': '行われた操作。member.role など。',
  'The id of what it was done to.': '操作の対象の ID。',
  'Names, roles, plans and amounts.': '名前、ロール、プラン、金額。',
}
