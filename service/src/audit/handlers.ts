/**
 * Records the requests that change something, and the reads of sensitive data, before their handlers run: no such request
 * takes effect without a record. The record says what was requested, and not whether it was refused.
 */
import { type OperationId, operationIds, operations, type Operation } from '@partner-payments/wire'
import { type AllHandlers, type Answer, type Call, nonceConsumingOperations } from '../api/index.ts'
import type { Audit } from './service.ts'

/** Identity data, credentials, and what leaves the service as a whole. */
const sensitiveReads: ReadonlySet<OperationId> = new Set([
  'getCustomer',
  'listCustomers',
  'getCustomerVerification',
  'listCustomerChanges',
  'exportCustomer',
  'getReportContent',
  'exportTransactions',
])

/**
 * What they do has a record in its own transaction as well. That of the request says who sent it, and is written meanwhile: a
 * payout is cancelled before a worker begins it, or not at all.
 */
const withOwnSteps: ReadonlySet<OperationId> = new Set(['cancelPayout', 'createTokenPayout', 'createFxPayout'])

/** Those that consume their nonce have a record in their own transaction, and no second one on the way of a payment. */
const isRecorded = (id: OperationId): boolean => {
  const { permission }: Operation = operations[id]
  return sensitiveReads.has(id) || (permission.endsWith(':write') && !nonceConsumingOperations.has(id))
}

/** What was done with the data of a customer is part of what is held about it. */
const namesCustomer = (id: OperationId): boolean => operations[id].path.startsWith('/v1/customers/{id}')

type AnyHandler = (call: Call<OperationId>) => Promise<Answer<unknown>>

export function auditedHandlers(handlers: AllHandlers, { record }: Pick<Audit, 'record'>): AllHandlers {
  const audited = operationIds.map((id): readonly [OperationId, AnyHandler] => {
    const handler = handlers[id] as unknown as AnyHandler
    if (!isRecorded(id)) return [id, handler]
    return [
      id,
      async (call) => {
        const { caller, params, requestId, ip } = call
        const { partnerId, serviceAccountId, name, impersonatedBy } = caller
        const impersonation = impersonatedBy === undefined ? {} : { impersonatedBy }
        const actor = { kind: 'partner', id: serviceAccountId, name, ...impersonation, ip } as const
        const subject = params as Record<string, string>
        const customerRef = namesCustomer(id) ? subject.id : undefined
        const recorded = record({ partnerId, actor, action: id, subject, requestId }, customerRef)
        if (withOwnSteps.has(id)) return (await Promise.all([handler(call), recorded]))[0]
        await recorded
        return handler(call)
      },
    ]
  })
  return Object.fromEntries(audited) as unknown as AllHandlers
}
