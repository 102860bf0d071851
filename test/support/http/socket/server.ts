import type { AddressInfo } from 'node:net'
import { openMeter } from '../../../../server/billing/meter.ts'
import { registerEndpoints } from '../../../../server/identity/caller/endpoint.ts'
import { openIdentity } from '../../../../server/identity/open.ts'
import { openHttp } from '../../../../server/platform/http/server.ts'
import { openSockets, SOCKET_TIMING, type SocketTiming } from '../../../../server/platform/http/websocket.ts'
import { openContextLengths } from '../../../../server/responses/context/lengths.ts'
import { responseSocket } from '../../../../server/responses/socket/connect.ts'
import type { TestApp } from '../app.ts'

/** Another server of the same service, with socket timing of its own. */
export async function startSocketServer(
  { ctx }: TestApp,
  { lifetime_seconds, ...timing }: Partial<SocketTiming> & { lifetime_seconds?: number },
) {
  const identity = await openIdentity({ ...ctx, live: ctx })
  const meter = openMeter(ctx.db)
  const sockets = openSockets({ path: '/v1/responses', log: ctx.log, timing: { ...SOCKET_TIMING, ...timing } })
  const http = openHttp({ log: ctx.log, sockets })
  const who = identity.authenticator
  http.decorateRequest('principal', null)
  http.decorate('publicOrigin', () => new URL(ctx.site.public_url).origin)
  http.register(async (routes) =>
    registerEndpoints(
      routes,
      ctx,
      [responseSocket({ sockets, meter, lengths: openContextLengths(), who, live: ctx, lifetime_seconds })],
      who,
    ),
  )
  await http.listen({ host: '127.0.0.1', port: 0 })
  return {
    url: `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`,
    sockets,
    async close() {
      await sockets.drain({ seconds: 0 })
      http.server.closeAllConnections()
      await http.close()
      await meter.close()
      await identity.close()
    },
  }
}
