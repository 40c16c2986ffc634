/**
 * Recalls: a partner requests the return of a completed payout from its recipient, through the bank that paid it.
 * Tables: payouts.recalls. Invariants: a payout has at most one open recall, and at most one for each reason. Returned
 * money ends the recall, even if the bank has refused it.
 */
export { recallsJob, createRecalls, operatorRequester, type RecallClaim, type Recalls } from './service.ts'
export { createRecallReturns } from './advance.ts'
export { recallsRoutes } from './routes.ts'

export { eraseRecalls, recallsDue } from './store.ts'
