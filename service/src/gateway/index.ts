/**
 * The gateway: the HTTP server. It authenticates and authorises a request, validates it by its schema, and runs the
 * handler or forwards to an api process. A response contains only what the response schema names. Owns no tables.
 *
 * A request passes `server.ts`, `authentication.ts`, `dispatcher.ts` (nonce), `operation.ts` (permission, schema) and the
 * module's handler, in this order.
 */
export { type Gateway, type GatewayOptions, createGateway } from './gateway.ts'
export { docsAssets } from './docs/assets.ts'
export { createRouter, type Router } from './router.ts'
export type { Cell } from './cell-lookup.ts'
export { gatewaySettings } from './settings.ts'
