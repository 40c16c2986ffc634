/**
 * The request log: each API request of a partner, and daily sums.
 *
 * Tables: requests.log, requests.sums. Invariants: a row has no body, no query and no credential. Rows are written
 * after the answer, outside the request. The transaction that writes a row also counts it in the sums.
 */
export { createRequestRecorder, type RequestRecorder } from './recorder.ts'
export { createRequests, type LoggedRequest, type Requests } from './service.ts'
