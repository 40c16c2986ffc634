/**
 * The gateway: HTTP in, and nothing of payments. It authenticates, authorises, validates, calls the module's handler (or
 * forwards to an api process) and lets out only what the response schema names.
 *
 * Three forms: `local` (serve: signature in, handlers here), `edge` (gateway: signature in, forwarded
 * to an api process), `inner` (api: the gateway's pass in, handlers here). Owns no tables.
 */
export { type Gateway, type GatewayOptions, createGateway } from './gateway.ts'
export { docsAssets } from './docs.ts'
export { gatewaySettings } from './settings.ts'
