export type Role = 'owner' | 'admin' | 'member'

/** Who is calling: one person in one organization, by an API key or by a console login. */
export type Principal = {
  org_id: string
  user_id: string
  role: Role
  /** Name of the organization's plan in the configuration. */
  plan: string
  via: 'api_key' | 'session'
  /** The API key's id; null for a console login. */
  key_id: string | null
  /** The console login's id; null for an API key. */
  session_id: string | null
}

/**
 * Finds out who is calling. Null when the request carries no such credential.
 * `api_key` throws ApiError `invalid_api_key` for a key that is malformed, unknown or revoked.
 */
export type Authenticator = {
  api_key(authorization: string): Promise<Principal>
  /** The caller of an API key that is cached and still fresh, else null: call `api_key`. */
  recall(authorization: string): Principal | null
  session(headers: { cookie: string }): Promise<Principal | null>
  /** Whether they include a cookie of a console login, valid or not. */
  hasSession(headers: { cookie: string }): boolean
}
