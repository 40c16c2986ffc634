/** The request that created a transaction, from the request log; and the transactions that a request has created. */
import type { ResponseOf } from '@partner-payments/wire'
import type { PublicRequest } from '../../kernel/api/index.ts'
import { callOf, queryText } from './payments-request.ts'
import type { Frame, Person } from './request.ts'

type LoggedRequest = ResponseOf<'getRequest'>

/** A request is answered after it has created the transaction. The clocks of two processes may differ by a second. */
const beforeMs = 1000
const afterMs = 60_000

const around = (at: string, earlierMs: number, laterMs: number) => ({
  createdFrom: new Date(Date.parse(at) - earlierMs).toISOString(),
  createdTo: new Date(Date.parse(at) + laterMs).toISOString(),
})

/** Undefined: the person may not read the log, or no program has created the transaction in the last 30 days. */
export async function creatingRequest(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  { requestId, createdAt }: { readonly requestId?: string | undefined; readonly createdAt: string },
) {
  const { caller, view } = person
  if (requestId === undefined || !caller.permissions.includes('users:read')) return undefined
  const query = queryText({ requestId, ...around(createdAt, beforeMs, afterMs) })
  const { data } = await operate('listRequests', { ...callOf(person, request), query })
  // A client may use the id again, also for the reads that follow. The oldest write has created it.
  const found = data.findLast(({ method, status, replayed }) => method !== 'GET' && status < 300 && !replayed)
  if (found === undefined) return undefined
  const { id, method, operation, status, serviceAccountName, at } = found
  return {
    href: `${view.root}requests/${id}`,
    text: `${method} ${operation}, ${status}, ${serviceAccountName}`,
    at: new Date(at),
  }
}

const recordsMax = '100'

/** References of transactions, by the audit records of the time of the request. Of a longer time only the last records are read. */
export async function createdBy(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  { requestId, method, status, replayed, at, durationMs }: LoggedRequest,
): Promise<readonly string[]> {
  if (method === 'GET' || status >= 300 || replayed) return []
  const query = queryText({ ...around(at, durationMs + beforeMs, 1), limit: recordsMax })
  const { data } = await operate('listAuditRecords', { ...callOf(person, request), query })
  return data.flatMap(({ requestId: other, action, subject: { reference } }) =>
    other === requestId && action === 'transaction.steps' && reference !== undefined ? [reference] : [],
  )
}
