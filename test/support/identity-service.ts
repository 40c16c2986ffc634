/** A test service with the simulated identity provider on a real socket, which also receives the webhooks for the service. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createIdentitySimulator,
  createSimulatedIdentityProvider,
  type SimulatorFaults,
} from '../../service/src/simulations/identity-provider/index.ts'
import { Refusal } from '../../service/src/kernel/api/index.ts'
import { createLog } from '../../service/src/kernel/index.ts'
import { createIdentityWebhookSite } from '../../service/src/parties/identity-checks/index.ts'
import { createTestService, type Service, type TestServiceOptions } from './composition.ts'

export const simulatorKey = Buffer.alloc(32, 7)
const timeoutMs = 2000

/** The connector to a provider at an address. */
export const providerAt = (origin: string) =>
  createSimulatedIdentityProvider({
    key: simulatorKey,
    timeoutMs,
    baseUrl: () => `${origin}/identity-simulator`,
    webhookUrl: () => `${origin}/identity/webhooks/simulated`,
  })

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts)
}

export async function createIdentityService(options: TestServiceOptions = {}) {
  const faults: SimulatorFaults = {}
  const log = createLog('silent')
  let service: Service | undefined
  const clock = { now: () => service?.clock.now() ?? options.now ?? new Date(0) }
  const simulator = createIdentitySimulator({ clock, log, key: simulatorKey, faults })
  const receive = async (request: IncomingMessage): Promise<number> => {
    if (service === undefined) return 503
    const site = createIdentityWebhookSite({
      checks: service.identityChecks,
      provider: service.identityProvider,
      clock,
    })
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const given = { path: '', params: { provider: 'simulated' }, query: '', headers, ip: '', requestId: '' }
    try {
      return (await site.routes[0]?.handle({ ...given, body: await bodyOf(request) }))?.status ?? 404
    } catch (error) {
      if (error instanceof Refusal) return error.code === 'signature_invalid' ? 401 : 404
      throw error
    }
  }
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/identity-simulator')) return simulator.listener(request, response)
    receive(request).then(
      (status) => response.writeHead(status).end(),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  simulator.opened(`${origin}/identity-simulator`)
  const composed = await createTestService({ ...options, identityProvider: providerAt(origin) })
  service = composed
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await composed.close()
  }
  return { ...composed, faults, origin, close }
}

export type IdentityService = Awaited<ReturnType<typeof createIdentityService>>
