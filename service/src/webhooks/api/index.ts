/**
 * The management API of webhook delivery: handlers and response shapes. Operations, tables and invariants are in
 * `delivery/`.
 */
export { webhooksRoutes } from './routes.ts'
