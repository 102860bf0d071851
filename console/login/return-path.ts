const KEY = 'kinora.return'

/** Whether it is an address of the console: `//host` and `/\host` would lead away. */
export function isOwnPath(path: unknown): path is string {
  return typeof path === 'string' && /^\/(?![/\\])/.test(path)
}

/** Remembers for this tab where the person was going, while an identity provider has them. */
export function keepReturn(path: string): void {
  try {
    sessionStorage.setItem(KEY, path)
  } catch {
    // Storage is closed to us: they arrive at the first page.
  }
}

/** Where the person was going, once; null when that is not known. */
export function takeReturn(): string | null {
  try {
    const path = sessionStorage.getItem(KEY)
    sessionStorage.removeItem(KEY)
    return isOwnPath(path) && path !== '/' ? path : null
  } catch {
    return null
  }
}
