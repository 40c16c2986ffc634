/** The moves of a payout from status to status, each with its ledger entry, its transaction and its events. */
import type { ErrorKey } from '@partner-payments/wire'
import { assert, partnerKey, present } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { PayoutsDeps } from './deps.ts'
import { failed, withdrawal } from './events.ts'
import { mayMove, type PayoutStatus } from './rules.ts'
import * as store from './store.ts'

export type Failure = { readonly errorKey: ErrorKey; readonly details: string }
type WithdrawalEvent = 'accepted' | 'sent' | 'failed'

export type Moves = ReturnType<typeof createMoves>

/** Each expects a payout row that the transaction has locked. */
export function createMoves(deps: PayoutsDeps) {
  const { clock, ledger, transactions } = deps

  /** Ends the lease. */
  const setStatus = (tx: Tx, payout: store.PayoutRow, status: PayoutStatus, failure?: Failure): Promise<void> => {
    assert(mayMove(payout.status, status), `payout ${payout.id} is ${payout.status}: it cannot become ${status}`)
    const change = {
      status,
      errorKey: failure?.errorKey ?? null,
      errorDetails: failure?.details ?? null,
      sendAttempts: payout.sendAttempts,
      dueAt: null,
      leaseId: null,
    }
    return store.updatePayout(tx, payout.partnerId, payout.id, change, clock.now())
  }

  return {
    /** The checks have passed. */
    accept: async (tx: Tx, payout: store.PayoutRow): Promise<void> => {
      await transactions.note(tx, payout.partnerId, payout.transactionId, 'Screening', 'Accepted')
      await appendEvent(deps, tx, payout, 'accepted')
    },
    send: async (tx: Tx, payout: store.PayoutRow): Promise<store.PayoutRow> => {
      await setStatus(tx, payout, 'Sent')
      await transactions.note(tx, payout.partnerId, payout.transactionId, 'Sent')
      await appendEvent(deps, tx, payout, 'sent')
      return { ...payout, status: 'Sent', dueAt: null, leaseId: null }
    },
    complete: async (tx: Tx, payout: store.PayoutRow): Promise<void> => {
      await ledger.post(tx, payout.partnerId, payout.reserveId)
      await setStatus(tx, payout, 'Completed')
      const conclusion = { status: 'Completed', steps: ['Settled'] } as const
      await transactions.conclude(tx, payout.partnerId, payout.transactionId, conclusion)
    },
    /** Before settlement: the reserved money becomes available again. */
    fail: async (tx: Tx, payout: store.PayoutRow, failure: Failure, status: 'Failed' | 'Returned'): Promise<void> => {
      await ledger.release(tx, payout.partnerId, payout.reserveId)
      await setStatus(tx, payout, status, failure)
      await appendEvent(deps, tx, payout, 'failed', failure)
      const conclusion = { status: 'Unsuccessful', steps: [status], errorKey: failure.errorKey } as const
      await transactions.conclude(tx, payout.partnerId, payout.transactionId, conclusion)
    },
    /** After settlement: a new, linked transaction brings the money back. */
    refund: async (tx: Tx, payout: store.PayoutRow, failure: Failure): Promise<void> => {
      await setStatus(tx, payout, 'Returned', failure)
      await bookRefund(deps, tx, payout)
      await transactions.noteAfterEnd(tx, payout.partnerId, payout.transactionId, 'Returned')
    },
  }
}

/** Appends an event of a customer's withdrawal. A payout of the partner's own has only the event of its status. */
async function appendEvent(
  { clock, eventOutbox, customers }: PayoutsDeps,
  tx: Tx,
  payout: store.PayoutRow,
  event: WithdrawalEvent,
  failure?: Failure,
): Promise<void> {
  const { partnerId, customerId } = payout
  if (customerId === null) return
  const payers = await customers.payersByIds(tx, [{ partnerId, id: customerId }])
  const customer = present(payers.get(partnerKey(partnerId, customerId)), 'the customer of a payout exists')
  const data = withdrawal(payout, customer)
  const now = clock.now()
  if (event !== 'failed') return eventOutbox.append(tx, partnerId, `partner.customer.withdrawal.${event}`, now, data)
  const failedData = failed(data, failure?.details ?? null)
  eventOutbox.append(tx, partnerId, 'partner.customer.withdrawal.failed', now, failedData)
}

/** The new transaction completes at once and names the transaction that it refunds. */
async function bookRefund(
  { ledger, transactions, railId }: PayoutsDeps,
  tx: Tx,
  payout: store.PayoutRow,
): Promise<void> {
  const { partnerId, amount, currency, customerId } = payout
  const refund = await transactions.open(tx, {
    partnerId,
    reference: null,
    amount,
    currency,
    category: 'Deposit',
    direction: 'Inward',
    type: customerId === null ? 'PartnerDeposit' : 'PartnerCustomerRefund',
    rail: payout.rail,
    customerId,
    steps: ['Created'],
    endToEndId: payout.endToEndId,
    originatingReference: payout.reference,
    description: `Return of ${payout.reference}`,
    debtor: { accountHolderName: payout.creditorName, iban: payout.creditorAccount, country: payout.creditorCountry },
  })
  await ledger.transfer(tx, {
    partnerId,
    debit: `settlement.${present(railId, 'a payout that was sent has a rail')}`,
    credit: 'balance',
    currency,
    amount,
    partyId: customerId ?? partnerId,
    reference: refund.reference,
  })
  await transactions.conclude(tx, partnerId, refund.id, { status: 'Completed', steps: ['Settled', 'Credited'] })
}
