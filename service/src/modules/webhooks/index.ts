/**
 * DeliveryEngine: the management API of webhook delivery. Handlers and answer shapes only; the verbs, their tables and their
 * invariants are in `delivery/`.
 */
export { webhooksRoutes } from './routes.ts'
