import type { DBAdapter, DBTransactionAdapter, Where } from 'better-auth'
import { hashToken } from '../caller/cookie.ts'

/**
 * The login library's database access, with session tokens hashed on the way in: the library has no setting for it.
 * A row it reads by a token comes back with that token, since the cookie is made from the row.
 */
export function hashSessionTokens(inner: DBAdapter): DBAdapter {
  return {
    ...hashed(inner),
    transaction: (callback) => inner.transaction((trx) => callback(hashed(trx))),
  } as DBAdapter
}

type Query = { model: string; where?: Where[]; data?: Row; update?: Row }
type Row = Record<string, unknown>

function hashed<A extends DBTransactionAdapter>(inner: A): A {
  const one = (run: (query: never) => Promise<unknown>) => async (query: Query) => {
    const row = await run(withHashes(query) as never)
    return query.model === 'session' ? withTokens(row, tokensIn(query)) : row
  }
  return {
    ...inner,
    create: one(inner.create),
    findOne: one(inner.findOne),
    findMany: one(inner.findMany),
    count: one(inner.count),
    update: one(inner.update),
    updateMany: one(inner.updateMany),
    delete: one(inner.delete),
    deleteMany: one(inner.deleteMany),
    consumeOne: one(inner.consumeOne),
    incrementOne: one(inner.incrementOne),
  }
}

function withHashes(query: Query): Query {
  if (query.model !== 'session') return query
  return {
    ...query,
    ...(query.where && { where: query.where.map(hashWhere) }),
    ...(query.data && { data: hashRow(query.data) }),
    ...(query.update && { update: hashRow(query.update) }),
  }
}

function hashWhere(where: Where): Where {
  if (where.field !== 'token') return where
  const { value } = where
  if (typeof value === 'string') return { ...where, value: hashToken(value) }
  return Array.isArray(value) ? { ...where, value: value.map((each) => hashToken(String(each))) } : where
}

function hashRow(row: Row): Row {
  return typeof row.token === 'string' ? { ...row, token: hashToken(row.token) } : row
}

/** By hash, the tokens the caller already knows. */
function tokensIn(query: Query): Map<string, string> {
  const values = (query.where ?? []).filter(({ field }) => field === 'token').flatMap(({ value }) => value)
  const known = [...values, query.data?.token, query.update?.token].filter((each) => typeof each === 'string')
  return new Map(known.map((token) => [hashToken(token), token]))
}

function withTokens(result: unknown, tokens: Map<string, string>): unknown {
  if (Array.isArray(result)) return result.map((row) => withTokens(row, tokens))
  if (typeof result !== 'object' || result === null) return result
  const token = tokens.get(String((result as Row).token))
  return token === undefined ? result : { ...result, token }
}
