/**
 * Writes reports to settlement as rows. The ids are derived, so that a repeated report has the same id and is stored
 * once.
 */
import type { ErrorKey } from '@partner-payments/wire'
import type { ReferenceCandidates, PayeeResult } from '../../iso20022/index.ts'
import { deriveTimeId, nilId, type Money } from '../../kernel/index.ts'
import { groupByShard, type Tx } from '../../postgres/index.ts'
import type { Credit, Debit, InstructionKey, BankAnomaly } from '../../rails/index.ts'
import { insertNotifications, type NewNotification } from './store-books.ts'

type Failure = {
  readonly errorKey: ErrorKey
  readonly details: string
  readonly reasonCode: string | null
  readonly bankText?: string | null
}
type CreditFacts = Credit & { readonly creditorReferences: ReferenceCandidates }
export type Report = {
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  /** Id in rails.iso_entries. */
  readonly entryId?: string
} & (
  | { readonly kind: 'payout.settled'; readonly facts: { readonly money?: Money } }
  | {
      readonly kind: 'payout.payee_checked'
      readonly facts: { readonly payee: PayeeResult; readonly bankText: string | null }
    }
  | { readonly kind: 'payout.rejected' | 'payout.returned'; readonly facts: Failure & { readonly money?: Money } }
  | { readonly kind: 'credit.booked'; readonly facts: CreditFacts }
  | { readonly kind: 'credit.reversed'; readonly facts: { readonly money: Money; readonly details: string } }
  | { readonly kind: 'debit.booked'; readonly facts: Debit }
  | {
      readonly kind: 'recall.answered'
      readonly facts: {
        readonly instructionId: string
        readonly accepted: boolean
        readonly reasonCode: string | null
        readonly bankText: string | null
      }
    }
  | { readonly kind: 'oddity'; readonly facts: { readonly what: BankAnomaly; readonly details: string } }
)

const bigintToText = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)

export function writeReports(tx: Tx, connector: string, reports: readonly Report[], now: Date): void {
  const rows = reports.map(({ facts, entryId = null, ...report }): NewNotification => ({
    ...report,
    connector,
    payload: JSON.stringify(facts, bigintToText),
    entryId,
    dueAt: now,
  }))
  for (const group of groupByShard(tx, rows)) insertNotifications(tx, group)
}

/** Returns the id of a settlement report. It sorts first, because the settlement of a payment precedes its return. */
export const settledReportId = (connector: string, { partnerId, id }: InstructionKey): string =>
  deriveTimeId(nilId, 'settled', connector, partnerId, id)

export const rejectedReportId = (connector: string, { partnerId, id }: InstructionKey, attempt: number): string =>
  deriveTimeId(nilId, 'rejected', connector, partnerId, id, String(attempt))

/** Returns the id of a payee check's report. A bank may check a payee again with another result. */
export const payeeCheckReportId = (
  connector: string,
  { partnerId, id }: InstructionKey,
  attempt: number,
  payee: PayeeResult,
): string => deriveTimeId(nilId, 'payee', connector, partnerId, id, String(attempt), payee)

/** Reports the answer to a recall. A bank may change its answer; each one is reported once. */
export function recallAnswerReport(
  connector: string,
  { partnerId, id: subjectId, instructionId }: InstructionKey & { readonly instructionId: string },
  answer: { readonly accepted: boolean; readonly reasonCode: string | null; readonly bankText: string | null },
): Report {
  const { accepted, reasonCode } = answer
  const id = deriveTimeId(nilId, 'recall', connector, partnerId, subjectId, String(accepted), reasonCode ?? '')
  return { partnerId, id, subjectId, kind: 'recall.answered', facts: { instructionId, ...answer } }
}

/** Reports an oddity. Oddities with equal `names` share a case. */
export function oddityReport(
  { operatorId, connector }: { readonly operatorId: string; readonly connector: string },
  what: BankAnomaly,
  details: string,
  names: readonly string[],
  subjectId?: string,
): Report {
  const id = deriveTimeId(nilId, 'oddity', connector, what, ...names)
  return { partnerId: operatorId, id, subjectId: subjectId ?? id, kind: 'oddity', facts: { what, details } }
}
