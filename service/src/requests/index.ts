/**
 * The request log: each request of a partner to the API, and sums of each day.
 *
 * Tables: requests.log, requests.sums. Invariants: a row has no body, no query and no credential. Rows are written after
 * the answer, by no request. Each row is counted in the sums in the same transaction.
 */
export { createRequestRecorder, type RequestRecorder } from './recorder.ts'
export { createRequests, type LoggedRequest, type Requests } from './service.ts'
