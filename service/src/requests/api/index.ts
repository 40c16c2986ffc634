/**
 * Request log: the operations with which a partner reads its requests, their problems and their sums.
 *
 * Tables: none. The verbs and the tables are in the folder `requests` of the core.
 */
export { requestLogRoutes } from './routes.ts'
