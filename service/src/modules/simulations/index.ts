/**
 * Simulations: deposits and withdrawals on request, in the sandbox only. They use the same modules and the same bank as
 * real traffic. Outside the sandbox the gateway answers 404 for the whole group. Owns no tables.
 */
export { simulationsRoutes } from './routes.ts'
export { type Simulations, createSimulations } from './service.ts'
