import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import type { Operator } from './action.ts'

/** Whoever runs this process, on this host. */
export function operatorHere(): Operator {
  const found = {
    sudo_user: process.env.SUDO_USER,
    login_uid: read('/proc/self/loginuid'),
    passwd: read('/etc/passwd'),
  }
  return { kind: 'operator', os_user: loginName(found) ?? ownName(), host: hostname() }
}

/** No session, as of a service that systemd started. Source: https://man7.org/linux/man-pages/man5/proc_pid_loginuid.5.html */
const NOBODY = '4294967295'

/**
 * The person who logged in, who may run commands as the user of the service by `sudo` or `runuser`; null when that is not known. `login_uid` is
 * what the kernel keeps of the session, `passwd` the file of users.
 */
export function loginName({
  sudo_user,
  login_uid,
  passwd,
}: {
  sudo_user: string | undefined
  login_uid: string
  passwd: string
}): string | null {
  if (sudo_user) return sudo_user
  const uid = login_uid.trim()
  if (uid === '' || uid === NOBODY) return null
  const user = passwd.split('\n').find((line) => line.split(':')[2] === uid)
  return user?.split(':')[0] ?? `uid ${uid}`
}

/** A process in a container may have a number and no name. */
function ownName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
