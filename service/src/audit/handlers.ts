/**
 * Records requests as their operations declare it (`audit` in the operations table): by default the requests that
 * change something and the reads of sensitive data. A record is committed before the handler runs, so that no such
 * request takes effect without one. It states the request, not its outcome.
 */
import {
  CustomerRef,
  type OperationId,
  operationIds,
  operations,
  type Operation,
  requestAuditOf,
} from '@partner-payments/wire'
import type { AllHandlers, Answer, Call } from '../kernel/api/index.ts'
import type { Audit } from './service.ts'

/** The path parameter that names a customer: operations on a customer's data are part of the data held about it. */
const customerParameterOf = ({ params = {} }: Operation): string | undefined =>
  Object.keys(params).find((name) => params[name] === CustomerRef)

/** The ids in the path. An update whose path has none names its thing by `id` in the body. */
function subjectOf({ params, body }: Call<OperationId>): Readonly<Record<string, string>> {
  const named = params as Record<string, string>
  const id = typeof body === 'object' && 'id' in body ? body.id : undefined
  return Object.keys(named).length === 0 && typeof id === 'string' ? { id } : named
}

type AnyHandler = (call: Call<OperationId>) => Promise<Answer<unknown>>

export function auditedHandlers(handlers: AllHandlers, { record }: Pick<Audit, 'record'>): AllHandlers {
  const audited = operationIds.map((id): readonly [OperationId, AnyHandler] => {
    const operation: Operation = operations[id]
    const handler = handlers[id] as unknown as AnyHandler
    const audit = requestAuditOf(operation)
    if (audit === 'none' || audit === 'handler') return [id, handler]
    const customerParameter = customerParameterOf(operation)
    return [
      id,
      async (call) => {
        const { caller, requestId, ip } = call
        const { partnerId, serviceAccountId, name, impersonatedBy } = caller
        const impersonation = impersonatedBy === undefined ? {} : { impersonatedBy }
        const actor = { kind: 'partner', id: serviceAccountId, name, ...impersonation, ip } as const
        const subject = subjectOf(call)
        const customerRef = customerParameter === undefined ? undefined : subject[customerParameter]
        const recorded = record({ partnerId, actor, action: id, subject, requestId }, customerRef)
        if (audit === 'meanwhile') return (await Promise.all([handler(call), recorded]))[0]
        await recorded
        return handler(call)
      },
    ]
  })
  return Object.fromEntries(audited) as unknown as AllHandlers
}
