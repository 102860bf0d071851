const KEY = 'kinora.invitation'

/**
 * The token of the invitation link. It is in the fragment, so that no server log has it, and is stored for this tab while the person
 * signs in. Null when there is none.
 */
export function readInvitation(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token) keepInvitation(token)
  try {
    return token ?? sessionStorage.getItem(KEY)
  } catch {
    return token
  }
}

/** Null removes it. */
export function keepInvitation(token: string | null): void {
  try {
    if (token === null) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, token)
  } catch {
    // Storage is unavailable: the link must be opened again after signing in.
  }
}
