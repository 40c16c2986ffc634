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

type Pages = {
  readonly readiness: () => Promise<Readiness>
  readonly metricsText: () => Promise<string>
  readonly metricsType: string
  /** Partner lookup for the router. Undefined: the database does not have the partner. */
  readonly findPartner?: (partnerId: string) => Promise<object | undefined>
}

export type OperationsServer = {
  /** Resolves to the port. `desk` answers the paths below `/desk`. Rejects with the error of the socket. */
  readonly listen: (host: string, port: number, desk?: RequestListener) => Promise<number>
  readonly close: () => Promise<void>
}

export function createOperationsServer(pages: Pages): OperationsServer {
  const routes = createRoutes(pages)
  let site: RequestListener = routes
  const server = createServer((request, response) =>
    /^\/desk(?:[/?]|$)/.test(request.url ?? '') ? site(request, response) : routes(request, response),
  )
  return {
    listen: (host, port, desk = routes) =>
      new Promise((resolve, reject) => {
        site = desk
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

function createRoutes({ readiness, metricsText, metricsType, findPartner }: Pages): RequestListener {
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
