import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { openQueries } from './api/queries.ts'
import { endSession, wasSignedIn } from './api/session.ts'
import { openRouter } from './routes.tsx'
import { Toasts } from './ui/overlay/toast.tsx'
import { TooltipProvider } from './ui/overlay/tooltip.tsx'

const queries = openQueries(leave)
const router = openRouter(queries)

/** The whole console. */
export function App() {
  return (
    <QueryClientProvider client={queries}>
      <TooltipProvider delayDuration={400}>
        <RouterProvider router={router} />
        <Toasts />
      </TooltipProvider>
    </QueryClientProvider>
  )
}

/** The session has ended: back to the sign-in page, which says so, and from there to where the person was. */
function leave(): void {
  const { pathname, href } = router.state.location
  if (pathname === '/sign-in' || pathname.startsWith('/invitations/')) return
  void router
    .navigate({ to: '/sign-in', search: { return: href, ...(wasSignedIn() && { ended: true }) } })
    .then(() => endSession(queries))
}
