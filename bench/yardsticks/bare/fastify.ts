import Fastify from 'fastify'

/** A Fastify with one route that sends a fixed JSON text: the least a service on Fastify can cost. Prints its port. */
const text = JSON.stringify({ id: 'x'.repeat(32), object: 'video', text: 'y'.repeat(380) })
const http = Fastify({ logger: false })
http.get('/*', async (_, reply) => reply.type('application/json; charset=utf-8').send(text))
await http.listen({ host: '127.0.0.1', port: 0 })
const address = http.server.address()
if (typeof address === 'object' && address) process.stdout.write(`${address.port}\n`)
