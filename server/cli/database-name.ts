import type { Config } from '../config/config.ts'
import { type DatabaseOutage, isDatabaseDown, outageOf } from '../platform/db/db.ts'
import { StartError } from '../platform/start-error.ts'
import { asSentence } from '../platform/text.ts'

/** Which database the configuration names, in words and without credentials. */
export function databaseName({ database_url, data_dir }: Pick<Config, 'database_url' | 'data_dir'>): string {
  if (database_url === null) return `the embedded database of ${data_dir}`
  if (!URL.canParse(database_url)) return 'the database of DATABASE_URL'
  const url = new URL(database_url)
  const host = url.searchParams.get('host') ?? url.host
  return `the database ${host}${url.pathname} of DATABASE_URL`
}

/** A StartError for a database that cannot be reached or refuses the login; any other error unchanged. */
export function asStartError(error: unknown, name: string): unknown {
  if (!(error instanceof Error) || error instanceof StartError) return error
  const { code = '' } = error as Error & { code?: string }
  // PostgreSQL, Appendix A: class 28 refuses the credentials, 3D000 knows no such database.
  if (!isDatabaseDown(error) && !/^(28|3D)/.test(code)) return error
  // Several addresses of one host are one error without a text of its own.
  const reason = asSentence(`Cannot use ${name}: ${error.message || code}`)
  return new StartError(`${reason} ${REMEDIES[outageOf(error)]}`, { cause: error })
}

const REMEDIES: Record<DatabaseOutage, string> = {
  unreachable: 'Check its address and that PostgreSQL is running.',
  read_only: 'Name the primary, or wait until it takes writes; commands that only read work meanwhile.',
  full: 'Free space on its disk.',
  sessions_shared: 'Use a pooler in session mode, or name PostgreSQL itself.',
}
