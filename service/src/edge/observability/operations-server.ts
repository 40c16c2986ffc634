/** The HTTP server of the operations port. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * `reason`: why the process cannot serve. `schema`: the last migration of the database. `cells`: whether each cell
 * answers the router.
 */
export type Readiness = {
  readonly reason?: string | undefined
  readonly schema?: number
  readonly cells?: Readonly<Record<string, boolean>>
}

type OperationsPages = {
  readonly readiness: () => Promise<Readiness>
  readonly metricsText: () => Promise<string>
  readonly metricsType: string
  /** Partner lookup for the router. Undefined: the database does not have the partner. */
  readonly findPartner?: (partnerId: string) => Promise<object | undefined>
}

/** Sites that share the port: the paths below `/desk`, and those of the simulated identity provider. */
type OperationsSites = {
  readonly desk?: RequestListener | undefined
  readonly identitySimulator?: RequestListener | undefined
}

export type OperationsServer = {
  /** Resolves to the port. Rejects with the error of the socket. */
  readonly listen: (host: string, port: number, sites?: OperationsSites) => Promise<number>
  readonly close: () => Promise<void>
}

export function createOperationsServer(pages: OperationsPages): OperationsServer {
  const routes = createRoutes(pages)
  let sites: OperationsSites = {}
  const siteAt = (url: string): RequestListener | undefined => {
    if (/^\/desk(?:[/?]|$)/.test(url)) return sites.desk
    return /^\/identity-simulator(?:[/?]|$)/.test(url) ? sites.identitySimulator : undefined
  }
  const server = createServer((request, response) => (siteAt(request.url ?? '') ?? routes)(request, response))
  return {
    listen: (host, port, given = {}) =>
      new Promise((resolve, reject) => {
        sites = given
        server.once('error', reject)
        server.listen(port, host, () => resolve((server.address() as AddressInfo).port))
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const partnerPath = /^\/partners\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

function createRoutes({ readiness, metricsText, metricsType, findPartner }: OperationsPages): RequestListener {
  return (request, response) => {
    const answer = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
    }
    const answerJson = (status: number, body: object) => answer(status, 'application/json', JSON.stringify(body))
    const path = request.url?.split('?', 1)[0] ?? ''
    const partnerId = partnerPath.exec(path)?.[1]
    const route = async () => {
      if (path === '/healthz') return answerJson(200, { status: 'ok' })
      if (path === '/metrics') return answer(200, metricsType, await metricsText())
      if (partnerId !== undefined && findPartner) {
        const found = await findPartner(partnerId)
        return found ? answerJson(200, found) : answerJson(404, { status: 'unknown partner' })
      }
      if (path !== '/readyz') return answerJson(404, { status: 'unknown path' })
      const { reason, ...facts } = await readiness()
      return reason === undefined
        ? answerJson(200, { status: 'ok', ...facts })
        : answerJson(503, { status: 'unavailable', reason, ...facts })
    }
    route().catch(() => answerJson(500, { status: 'failed' }))
  }
}
