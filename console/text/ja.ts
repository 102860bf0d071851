/*
 * 用語：一つのものは、いつも同じ言葉で呼ぶ。
 * 動画（数え方は「本」）、リクエスト・会話・イベント（「件」）、素材（動画に使うファイル、「点」）、ジョブ、残高、利用可能額、クレジット、料金、キー、
 * メンバー、権限（role）、招待、利用規約、二要素認証、セリフ、アスペクト比、フレーム、プロンプト、改善案、送信待ち、本数。
 * 作成者：動画やキーを作った人。ファイルは「アップロードした人」。 運営者：サービスを動かす人。
 * 取り消す：動画・招待・クレジットをやめる。無効にする：キー・リンク・エンドポイントを使えなくする。外す：付けたものを取る。削除する：消す。
 * キャンセル：ダイアログとアップロードだけ。 たった今：時刻の表示。現在：いまの状態。
 */
import billing from './ja/billing.ts'
import chat from './ja/chat.ts'
import errors from './ja/errors.ts'
import files from './ja/files.ts'
import guides from './ja/guides.ts'
import keys from './ja/keys.ts'
import kit from './ja/kit.ts'
import login from './ja/login.ts'
import members from './ja/members.ts'
import settings from './ja/settings.ts'
import shell from './ja/shell.ts'
import usage from './ja/usage.ts'
import clips from './ja/videos/clips.ts'
import help from './ja/videos/help.ts'
import repeat from './ja/videos/repeat.ts'
import sharing from './ja/videos/sharing.ts'
import waiting from './ja/videos/waiting.ts'
import videos from './ja/videos.ts'
import webhooks from './ja/webhooks.ts'

/** Every text in Japanese, by namespace: for the compiler and the tests. The console loads namespaces separately. */
export default {
  billing,
  chat,
  errors,
  files,
  guides,
  keys,
  kit,
  login,
  members,
  settings,
  shell,
  usage,
  videos,
  'videos/clips': clips,
  'videos/help': help,
  'videos/repeat': repeat,
  'videos/sharing': sharing,
  'videos/waiting': waiting,
  webhooks,
}
