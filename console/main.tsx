import './ui/styles.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { openQueries } from './api/queries.ts'
import { endSession, wasSignedIn } from './api/session.ts'
import { openRouter } from './routes.tsx'
import { openTexts } from './text/languages.ts'
import { ignoreStrayFiles } from './ui/file-drops.ts'
import { TooltipProvider } from './ui/tooltip.tsx'

const queries = openQueries(leave)
const router = openRouter(queries)

ignoreStrayFiles()
await openTexts()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <TooltipProvider delayDuration={400}>
        <RouterProvider router={router} />
      </TooltipProvider>
    </QueryClientProvider>
  </StrictMode>,
)

/** The session has ended: opens the sign-in page, which says so and leads back here. */
function leave(): void {
  const { pathname, href } = router.state.location
  if (pathname === '/sign-in' || pathname.startsWith('/invitations/')) return
  void router
    .navigate({ to: '/sign-in', search: { return: href, ...(wasSignedIn() && { ended: true }) } })
    .then(() => endSession(queries))
}
