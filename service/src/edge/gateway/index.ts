/**
 * The gateway: the HTTP server. It authenticates and authorises a request, validates it by its schema, and runs the
 * handler or forwards to an api process. A response contains only fields of the response schema. It owns no tables.
 *
 * A request passes `server.ts`, `gateway.ts` (authentication, then the nonce), `operation.ts` (permission, schema) and
 * the module's handler, in this order.
 */
import type { DocsAsset, DocsOptions } from './docs/assets.ts'
import type { Gateway, GatewayOptions } from './gateway.ts'
import type { InProcess, OperateOptions } from './operation.ts'
import type { Router, RouterOptions } from './router.ts'
import type { SiteOptions } from './site-listener.ts'
import type { RequestListener } from 'node:http'

export type { Gateway }
export type { Cell } from './router.ts'

// The first call loads them: workers and commands of the operator answer no HTTP requests.
export const createGateway = async (options: GatewayOptions): Promise<Gateway> =>
  (await import('./gateway.ts')).createGateway(options)
export const createRouter = async (options: RouterOptions): Promise<Router> =>
  (await import('./router.ts')).createRouter(options)
export const createSiteListener = async (options: SiteOptions): Promise<RequestListener> =>
  (await import('./site-listener.ts')).createSiteListener(options)
export const docsAssets = async (options: DocsOptions): Promise<readonly DocsAsset[]> =>
  (await import('./docs/assets.ts')).docsAssets(options)
/** Renders a runbook of the repository as HTML. */
export const findRunbook = async (name: string) => (await import('./docs/markdown.ts')).findRunbook(name)
export const createOperate = async (options: OperateOptions): Promise<InProcess> =>
  (await import('./operation.ts')).createOperate(options)
