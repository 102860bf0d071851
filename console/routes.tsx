import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense } from 'react'
import { readSession, wasSignedIn } from './api/session.ts'
import { loadMarkdown } from './chat/markdown/late-markdown.tsx'
import { isOwnPath, takeReturn } from './login/return-path.ts'
import { BrokenPage, LostPage, MissingPage, PendingPage } from './shell/page-states.tsx'
import { Shell } from './shell/shell.tsx'
import { withTexts } from './text/languages.ts'
import { noteHistory } from './ui/back.ts'
import { focusTitle } from './ui/title-focus.ts'

type RouterContext = { queries: QueryClient }

const root = createRootRouteWithContext<RouterContext>()({ component: Root, notFoundComponent: LostPage })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { return?: string; error?: string; ended?: true } => {
    const { error, ended } = search
    return {
      return: isOwnPath(search.return) ? search.return : undefined,
      error: typeof error === 'string' ? error : undefined,
      ended: ended === true ? true : undefined,
    }
  },
  component: lazyRouteComponent(() => withTexts('login', import('./login/sign-in-page.tsx')), 'SignInPage'),
})

const acceptInvitation = createRoute({
  getParentRoute: () => root,
  path: '/invitations/accept',
  beforeLoad: ({ context }) => readSession(context.queries).then(() => undefined),
  component: lazyRouteComponent(() => withTexts('login', import('./login/invitation-page.tsx')), 'InvitationPage'),
})

const chooseInvitation = createRoute({
  getParentRoute: () => root,
  path: '/invitations/choose',
  component: lazyRouteComponent(
    () => withTexts('login', import('./login/choose-invitation-page.tsx')),
    'ChooseInvitationPage',
  ),
})

/** The filters of a list in its address, which its page checks. They are not converted: the address would change. */
function filtersOf<const Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown>) => {
    const given = names.filter((name) => ['string', 'number'].includes(typeof search[name]))
    return Object.fromEntries(given.map((name) => [name, search[name]])) as { [Each in Name]?: string | number }
  }
}

/** Everything that needs a person. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    const session = await readSession(context.queries)
    if (session !== null) return
    const back = location.href === '/' ? {} : { return: location.href }
    throw redirect({ to: '/sign-in', search: { ...back, ...(wasSignedIn() && { ended: true }) } })
  },
})

const start = createRoute({
  getParentRoute: () => shell,
  path: '/',
  beforeLoad: () => {
    throw redirect({ href: takeReturn() ?? '/videos', replace: true })
  },
})

const videos = createRoute({
  getParentRoute: () => shell,
  path: '/videos',
  validateSearch: filtersOf(
    ...(['search', 'user_id', 'status', 'model', 'created_after', 'created_before'] as const),
    ...(['cost_min', 'cost_max', 'tag', 'favorite', 'size'] as const),
  ),
  component: lazyRouteComponent(() => withTexts('videos', import('./videos/page.tsx')), 'VideosPage'),
})
const video = createRoute({
  getParentRoute: () => shell,
  path: '/videos/$id',
  validateSearch: filtersOf('with'),
  component: lazyRouteComponent(() => withTexts('videos', import('./videos/job/page.tsx')), 'VideoPage'),
})
const chat = createRoute({
  getParentRoute: () => shell,
  path: '/chat',
  component: lazyRouteComponent(() => withTexts('chat', import('./chat/page.tsx')), 'ChatPage'),
})
/** The chat page shows it, with answers from the beginning. */
const conversation = createRoute({ getParentRoute: () => chat, path: '$id', loader: loadMarkdown })
const files = createRoute({
  getParentRoute: () => shell,
  path: '/files',
  validateSearch: filtersOf('purpose'),
  component: lazyRouteComponent(() => withTexts('files', import('./files/page.tsx')), 'FilesPage'),
})
const keys = createRoute({
  getParentRoute: () => shell,
  path: '/keys',
  component: lazyRouteComponent(() => withTexts('keys', import('./keys/page.tsx')), 'KeysPage'),
})
const usage = createRoute({
  getParentRoute: () => shell,
  path: '/usage',
  validateSearch: filtersOf('by', 'days', 'from', 'to'),
  component: lazyRouteComponent(() => withTexts('usage', import('./usage/page.tsx')), 'UsagePage'),
})
const billing = createRoute({
  getParentRoute: () => shell,
  path: '/billing',
  component: lazyRouteComponent(() => withTexts('billing', import('./billing/page.tsx')), 'BillingPage'),
})
const webhooks = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks',
  component: lazyRouteComponent(() => withTexts('webhooks', import('./webhooks/page.tsx')), 'WebhooksPage'),
})
const webhook = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks/$id',
  validateSearch: filtersOf('state'),
  component: lazyRouteComponent(() => withTexts('webhooks', import('./webhooks/endpoint-page.tsx')), 'EndpointPage'),
})
const members = createRoute({
  getParentRoute: () => shell,
  path: '/members',
  component: lazyRouteComponent(() => withTexts('members', import('./members/page.tsx')), 'MembersPage'),
})
const guides = createRoute({
  getParentRoute: () => shell,
  path: '/guides',
  component: lazyRouteComponent(() => withTexts('guides', import('./guides/page.tsx')), 'GuidesPage'),
})
const settings = createRoute({
  getParentRoute: () => shell,
  path: '/settings',
  component: lazyRouteComponent(() => withTexts('settings', import('./settings/page.tsx')), 'SettingsPage'),
})

const tree = root.addChildren([
  signIn,
  acceptInvitation,
  chooseInvitation,
  shell.addChildren([
    start,
    videos,
    video,
    chat.addChildren([conversation]),
    files,
    keys,
    webhooks,
    webhook,
    usage,
    billing,
    members,
    guides,
    settings,
  ]),
])

/** Loaded after the first page, which has none. Without its code no deletion can be undone: it is sent when the page is left. */
const Toasts = lazy<() => ReactNode>(() =>
  import('./ui/overlay/toasts.tsx').then(
    (module) => ({ default: module.Toasts }),
    () => ({ default: () => null }),
  ),
)

/** Toasts outlive pages, and may have links to others. */
function Root() {
  return (
    <>
      <Outlet />
      <Suspense>
        <Toasts />
      </Suspense>
    </>
  )
}

/** Every page of the console. The service answers these paths too: CLIENT_PATHS in `server/console/assets.ts`. */
export function openRouter(queries: QueryClient) {
  const router = createRouter({
    routeTree: tree,
    context: { queries },
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    defaultPendingMs: 150,
    defaultPendingMinMs: 0,
    defaultPendingComponent: PendingPage,
    defaultErrorComponent: BrokenPage,
    defaultNotFoundComponent: MissingPage,
    scrollRestoration: true,
  })
  noteHistory(router)
  router.subscribe('onRendered', ({ pathChanged, fromLocation }) => {
    if (fromLocation && pathChanged) focusTitle()
  })
  return router
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof openRouter>
  }
}
