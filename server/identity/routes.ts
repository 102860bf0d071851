import { activityEndpoints } from './activity/routes.ts'
import type { Endpoint } from './caller/endpoint.ts'
import { invitationEndpoints } from './invitations/routes.ts'
import { keyEndpoints } from './keys/routes.ts'
import { sessionEndpoints } from './login/routes.ts'
import { memberEndpoints } from './members/routes.ts'
import { oidcEndpoints } from './oidc/routes.ts'
import type { Identity } from './open.ts'
import { organizationEndpoints } from './organization/routes.ts'
import { profileEndpoints } from './people/routes.ts'
import { twoFactorEndpoints } from './two-factor/routes.ts'

/** Everything under `/console` that concerns people and keys. Source: docs/api/console.md. */
export function identityEndpoints(identity: Identity): Endpoint[] {
  return [
    ...sessionEndpoints(identity),
    ...profileEndpoints(identity),
    ...twoFactorEndpoints(identity),
    ...oidcEndpoints(identity),
    ...keyEndpoints(identity),
    ...organizationEndpoints,
    ...memberEndpoints(identity),
    ...invitationEndpoints(identity),
    ...activityEndpoints,
  ]
}
