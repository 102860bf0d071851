import { readFileSync } from 'node:fs'
import type { Context } from '../context.ts'
import { PASSWORD_LENGTH } from '../identity/login/library.ts'
import { termsUrl } from '../videos/acceptance.ts'
import type { SiteView } from './schema.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** What the sign-in page and the console need to know of this service; nothing here is secret, nobody is named. */
export function siteView({ config, site, engines }: Pick<Context, 'config' | 'site' | 'engines'>): SiteView {
  const { min, max } = PASSWORD_LENGTH
  return {
    object: 'console_site',
    version,
    public_url: site.public_url,
    currency: config.currency,
    terms: { version: config.terms.version, url: termsUrl({ config, site }) },
    oidc: config.login.oidc && { name: config.login.oidc.name },
    two_factor: true,
    password: { min_length: min, max_length: max },
    translates: engines.translation.available,
  }
}
