/**
 * Simulations: deposits and withdrawals on request, and events on the simulated chain, in the sandbox only. They use
 * the same modules, the same bank and the same chain connector as real traffic. Outside the sandbox the gateway answers
 * 404 for the whole group. Owns no tables.
 */
export { simulationsRoutes } from './routes.ts'
export { type Simulations, createSimulations } from './service.ts'
