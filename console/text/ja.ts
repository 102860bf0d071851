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
