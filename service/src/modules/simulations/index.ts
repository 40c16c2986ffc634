/**
 * Simulations: the sandbox's levers. They drive the same modules and the same bank as real traffic, and exist only there:
 * the gateway answers 404 for the whole group outside the sandbox. Owns no tables.
 */
export { simulationsRoutes } from './routes.ts'
export { type Simulations, createSimulations } from './service.ts'
