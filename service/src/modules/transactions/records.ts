/** Audit records of transactions: each opening and each step, in the transaction that makes it. */
import type { SignedApproval, TimelineStep, TransactionStatus } from '@partner-payments/wire'
import type { NewRecord } from '../../audit/index.ts'
import { amountText, present } from '../../kernel/index.ts'
import type { Actor } from '../../lifecycle/index.ts'
import type { TransactionRow } from './store.ts'

const action = 'transaction.steps'

/** The caller of the partner who has made a step, with the evidence if it was confirmed. */
export type StepMaker = {
  readonly id: string
  readonly name: string
  readonly confirmation?: SignedApproval | undefined
}

type Steps = {
  readonly partnerId: string
  readonly reference: string
  readonly status: TransactionStatus
  readonly steps: readonly TimelineStep[]
  readonly actor?: Actor
  readonly by?: StepMaker
  readonly reason?: string | null
  readonly recordId: string | undefined
}

export const recordOfSteps = ({ actor = 'worker', by, reason, recordId, ...made }: Steps): NewRecord => ({
  partnerId: made.partnerId,
  id: recordId,
  actor: { kind: actor, ...(by && { id: by.id, name: by.name }) },
  action,
  subject: { reference: made.reference },
  details: { steps: made.steps, status: made.status, ...(by?.confirmation && { approval: by.confirmation }) },
  ...(reason ? { reason } : {}),
})

type Opening = {
  readonly steps: readonly TimelineStep[]
  readonly actor?: Actor
  readonly requestedBy?: { readonly id: string; readonly name: string; readonly ipAddress: string }
  readonly requestId?: string | undefined
}

/** Creates one record for each row, with the id of its transaction. */
export const recordsOfOpenings = (
  rows: readonly TransactionRow[],
  openings: readonly Opening[],
): readonly NewRecord[] =>
  rows.map(({ partnerId, id, reference, type, amount, currency, status }, index): NewRecord => {
    const { steps, actor = 'worker', requestedBy, requestId } = present(openings[index], 'each row has an opening')
    const maker = requestedBy && { id: requestedBy.id, name: requestedBy.name, ip: requestedBy.ipAddress }
    return {
      partnerId,
      id,
      actor: { kind: actor, ...maker },
      action,
      subject: { reference },
      details: { steps, status, type, amount: amountText(amount, currency), currency },
      requestId,
    }
  })
