/**
 * Recalls: a completed payout is asked back from its recipient, through the bank that paid it.
 *
 * Tables: payouts.recalls. Invariants: a payout has at most one recall that is open, and one for each reason. Money that comes
 * back ends the recall, whatever the bank has answered.
 */
export { recallsJob, createRecalls, operatorOf, type RecallClaim, type Recalls } from './service.ts'
export { createReturnedByRecall } from './advance.ts'
export { recallsRoutes } from './routes.ts'

export { eraseRecalls, recallsDue } from './store.ts'
