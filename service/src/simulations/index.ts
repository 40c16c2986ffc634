/**
 * Simulations: deposits, withdrawals and events of the simulated chain, in the sandbox only. They use the same modules,
 * bank and chain connector as real traffic. Outside the sandbox the gateway returns 404 for the whole group. The module
 * does not own tables.
 */
export { simulationsRoutes } from './routes.ts'
export { createSimulations } from './service.ts'
