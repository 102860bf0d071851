import billing from './en/billing.ts'
import chat from './en/chat.ts'
import errors from './en/errors.ts'
import files from './en/files.ts'
import guides from './en/guides.ts'
import keys from './en/keys.ts'
import kit from './en/kit.ts'
import login from './en/login.ts'
import members from './en/members.ts'
import settings from './en/settings.ts'
import shell from './en/shell.ts'
import usage from './en/usage.ts'
import clips from './en/videos/clips.ts'
import help from './en/videos/help.ts'
import repeat from './en/videos/repeat.ts'
import sharing from './en/videos/sharing.ts'
import waiting from './en/videos/waiting.ts'
import videos from './en/videos.ts'
import webhooks from './en/webhooks.ts'

/** Every text in English, by namespace: for the compiler and the tests. The console loads namespaces separately. */
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
