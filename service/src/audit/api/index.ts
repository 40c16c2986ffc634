/**
 * Audit log: the operations with which a partner reads its records and signed heads.
 *
 * Tables: none. The verbs and the tables are in the folder `audit` of the core.
 */
import type { ResponseOf } from '@partner-payments/wire'
import { type Handlers, writePage } from '../../kernel/api/index.ts'
import type { Audit, AuditRecord } from '../index.ts'

export function auditLogRoutes(audit: Pick<Audit, 'list' | 'heads'>) {
  return {
    listAuditRecords: async ({ caller, query }) => writePage(await audit.list(caller.partnerId, query), toWireRecord),
    listAuditHeads: async ({ caller, query }) => {
      const { data, ...page } = await audit.heads(caller.partnerId, query)
      return { body: { ...page, data: data.map(({ id: _id, ...head }) => head) } }
    },
  } satisfies Partial<Handlers<'users'>>
}

const toWireRecord = ({
  subject,
  details,
  reason,
  requestId,
  ...record
}: AuditRecord): ResponseOf<'listAuditRecords'>['data'][number] => ({
  ...record,
  subject: { ...subject },
  ...(details === undefined ? {} : { details: { ...details } }),
  ...(reason === undefined ? {} : { reason }),
  ...(requestId === undefined ? {} : { requestId }),
})
