import { activityRoutes } from './activity/routes.ts'
import type { Route } from './caller/route.ts'
import { invitationRoutes } from './invitations/routes.ts'
import { keyRoutes } from './keys/routes.ts'
import { sessionRoutes } from './login/routes.ts'
import { memberRoutes } from './members/routes.ts'
import { oidcRoutes } from './oidc/routes.ts'
import type { Identity } from './open.ts'
import { organizationRoutes } from './organization/routes.ts'
import { profileRoutes } from './people/routes.ts'
import { twoFactorRoutes } from './two-factor/routes.ts'

/** Everything under `/console` that concerns people and keys. Source: docs/api/console.md. */
export function identityRoutes(identity: Identity): Route[] {
  return [
    ...sessionRoutes(identity),
    ...profileRoutes(identity),
    ...twoFactorRoutes(identity),
    ...oidcRoutes(identity),
    ...keyRoutes(identity),
    ...organizationRoutes,
    ...memberRoutes(identity),
    ...invitationRoutes(identity),
    ...activityRoutes,
  ]
}
