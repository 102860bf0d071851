const KEY = 'kinora.return'

/** Whether it is a path of the console: `//host` and `/\host` lead to another host. */
export function isOwnPath(path: unknown): path is string {
  return typeof path === 'string' && /^\/(?![/\\])/.test(path)
}

/** Stores the path to return to while the person signs in at an identity provider. */
export function keepReturn(path: string): void {
  try {
    sessionStorage.setItem(KEY, path)
  } catch {
    // Storage is unavailable: the start page opens instead.
  }
}

/** The stored path, once; null when there is none. */
export function takeReturn(): string | null {
  try {
    const path = sessionStorage.getItem(KEY)
    sessionStorage.removeItem(KEY)
    return isOwnPath(path) && path !== '/' ? path : null
  } catch {
    return null
  }
}
