/**
 * How a payout moves on: the verbs of the settlement worker. A claim is a lease; what is done under it is fenced by its
 * id, so that a worker that was frozen past its lease changes nothing. What the bank tells (settled, rejected,
 * returned) needs no lease: the state decides whether it is news.
 */
import type { ErrorKey } from '@partner-payments/wire'
import { after, assert, newId, nilId, present, secondMs } from '../../kernel/index.ts'
import type { Acknowledgement } from '../../rails/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { failed, withdrawal } from './events.ts'
import { holdsReserve, mayMove, type PayoutStatus, restAfter, sendAttemptsMax } from './rules.ts'
import type { PayoutsDeps } from './deps.ts'
import * as store from './store.ts'

export type PayoutClaim = store.PayoutRow & { readonly leaseId: string }
export type Failure = { readonly errorKey: ErrorKey; readonly details: string }

export type Progress = {
  /** Frees what dead workers hold. Only where no other worker can be alive: the embedded database has one process. */
  readonly releaseLeases: (partnerId: string) => Promise<void>
  /** The due-work scan: which partners have payouts to move on. */
  readonly partnersWithDue: (partnersMax: number) => Promise<readonly string[]>
  readonly claim: (partnerId: string, payoutsMax: number) => Promise<readonly PayoutClaim[]>
  /**
   * The checks are passed and a try at the bank begins: Pending -> Processing, and one more attempt on the books before
   * the bank hears of it. Answers undefined where the lease is lost.
   */
  readonly recordAttempt: (claim: PayoutClaim) => Promise<PayoutClaim | undefined>
  /** The bank has answered: Processing -> Sent, or Failed. Nothing where the lease is lost. */
  readonly recordAcknowledgement: (claim: PayoutClaim, acknowledgement: Acknowledgement) => Promise<void>
  /**
   * The bank was asked and does not have the instruction: after many tries the payout fails. True: it is over. Asked
   * before a try only, since after one that broke nobody knows whether it arrived.
   */
  readonly failAfterLastAttempt: (claim: PayoutClaim) => Promise<boolean>
  /** The bank could not be reached: what became of the try is unknown, and it is asked later. */
  readonly recordUnreachable: (claim: PayoutClaim) => Promise<void>
  /** Sent -> Completed: what was reserved is posted. False, here and below: it was no news, and changed nothing. */
  readonly settled: (partnerId: string, payoutId: string) => Promise<boolean>
  /** Rejected before settlement: the money is free again. */
  readonly rejected: (partnerId: string, payoutId: string, failure: Failure) => Promise<boolean>
  /** Sent back: before settlement as `rejected`; after it a new, linked transaction brings the money back. */
  readonly returned: (partnerId: string, payoutId: string, failure: Failure) => Promise<boolean>
}

/** Longer than a try at a bank takes, short enough that a killed worker's payouts are soon another's. */
const leaseMs = 15 * secondMs

export function createProgress(deps: PayoutsDeps): Progress {
  const { db, clock, ledger, transactions } = deps
  let lookedUpTo = nilId

  /** Works on the locked row; does nothing where another has taken the lease meanwhile. */
  const fenced = <T>(claim: PayoutClaim, work: (tx: Tx, payout: store.PayoutRow) => Promise<T>) =>
    db.transaction(async (tx) => {
      const payout = await locked(tx, claim.partnerId, claim.id)
      return payout.leaseId === claim.leaseId ? work(tx, payout) : undefined
    })
  /**
   * News of an instruction proves that the bank took it, also where the acknowledgement was lost with its worker: what
   * it would have said is caught up on first, and the lease ends, so that nobody hands the instruction over again.
   */
  const onNews = (partnerId: string, id: string, work: (tx: Tx, payout: store.PayoutRow) => Promise<boolean>) =>
    db.transaction(async (tx) => {
      const payout = await locked(tx, partnerId, id)
      return work(tx, payout.status === 'Processing' ? await sent(tx, payout) : payout)
    })

  const move = (tx: Tx, payout: store.PayoutRow, status: PayoutStatus, failure?: Failure) => {
    assert(mayMove(payout.status, status), `payout ${payout.id} is ${payout.status}: it cannot become ${status}`)
    const errors = { errorKey: failure?.errorKey ?? null, errorDetails: failure?.details ?? null }
    const { sendAttempts } = payout
    const change = { status, ...errors, sendAttempts, dueAt: null, leaseId: null }
    return store.updatePayout(tx, payout.partnerId, payout.id, change, clock.now())
  }

  const sent = async (tx: Tx, payout: store.PayoutRow): Promise<store.PayoutRow> => {
    await move(tx, payout, 'Sent')
    await transactions.note(tx, payout.partnerId, payout.transactionId, 'Sent')
    await tell(deps, tx, payout, 'sent')
    return { ...payout, status: 'Sent', dueAt: null, leaseId: null }
  }

  const fail = async (tx: Tx, payout: store.PayoutRow, failure: Failure, as: 'Failed' | 'Returned') => {
    await ledger.release(tx, payout.partnerId, payout.reserveId)
    await move(tx, payout, as, failure)
    await tell(deps, tx, payout, 'failed', failure)
    const { errorKey } = failure
    const steps = [as] as const
    await transactions.conclude(tx, payout.partnerId, payout.transactionId, { status: 'Unsuccessful', steps, errorKey })
  }

  return {
    releaseLeases: (partnerId) => store.releaseLeases(db, partnerId, clock.now()),
    partnersWithDue: async (partnersMax) => {
      const found = await store.partnersWithDue(db, clock.now(), lookedUpTo, partnersMax)
      const again = found.length < partnersMax && lookedUpTo !== nilId
      const more = again ? await store.partnersWithDue(db, clock.now(), nilId, partnersMax - found.length) : []
      const partnerIds = [...new Set([...found, ...more])]
      // On from here the next time, so that those with many payouts do not keep the others waiting.
      lookedUpTo = partnerIds.at(-1) ?? nilId
      return partnerIds
    },
    claim: async (partnerId, payoutsMax) => {
      const now = clock.now()
      const leaseId = newId()
      const rows = await store.claimDue(db, partnerId, { now, leaseId, leaseUntil: after(now, leaseMs), payoutsMax })
      return rows.map((row) => ({ ...row, leaseId })).toSorted((a, b) => (a.id < b.id ? -1 : 1))
    },
    recordAttempt: (claim) =>
      fenced(claim, async (tx, payout) => {
        const now = clock.now()
        const change = { status: 'Processing', errorKey: null, errorDetails: null } as const
        const sendAttempts = payout.sendAttempts + 1
        const lease = { dueAt: after(now, leaseMs), leaseId: claim.leaseId }
        await store.updatePayout(tx, payout.partnerId, payout.id, { ...change, sendAttempts, ...lease }, now)
        if (payout.status === 'Pending') {
          await transactions.note(tx, payout.partnerId, payout.transactionId, 'Screening', 'Accepted')
          await tell(deps, tx, payout, 'accepted')
        }
        return { ...claim, status: 'Processing', sendAttempts }
      }),
    recordAcknowledgement: async (claim, acknowledgement) => {
      await fenced(claim, async (tx, payout) => {
        if (acknowledgement.accepted) await sent(tx, payout)
        else await fail(tx, payout, acknowledgement, 'Failed')
      })
    },
    failAfterLastAttempt: async (claim) => {
      if (claim.sendAttempts <= sendAttemptsMax) return false
      const failure = { errorKey: 'BankUnreachable', details: 'The bank could not be reached.' } as const
      await fenced(claim, (tx, payout) => fail(tx, payout, failure, 'Failed'))
      return true
    },
    recordUnreachable: async (claim) => {
      await fenced(claim, async (tx, payout) => {
        const { sendAttempts, partnerId, id } = payout
        const now = clock.now()
        const unchanged = { status: payout.status, errorKey: null, errorDetails: null, sendAttempts }
        const again = { dueAt: after(now, restAfter(sendAttempts)), leaseId: null }
        return store.updatePayout(tx, partnerId, id, { ...unchanged, ...again }, now)
      })
    },
    settled: (partnerId, payoutId) =>
      onNews(partnerId, payoutId, async (tx, payout) => {
        if (!mayMove(payout.status, 'Completed')) return false
        await ledger.post(tx, partnerId, payout.reserveId)
        await move(tx, payout, 'Completed')
        const steps = ['Settled'] as const
        await transactions.conclude(tx, partnerId, payout.transactionId, { status: 'Completed', steps })
        return true
      }),
    rejected: (partnerId, payoutId, failure) =>
      onNews(partnerId, payoutId, async (tx, payout) => {
        if (payout.status !== 'Sent') return false
        await fail(tx, payout, failure, 'Failed')
        return true
      }),
    returned: (partnerId, payoutId, failure) =>
      onNews(partnerId, payoutId, async (tx, payout) => {
        if (!mayMove(payout.status, 'Returned')) return false
        if (holdsReserve(payout.status)) await fail(tx, payout, failure, 'Returned')
        else await giveBack(deps, tx, payout, () => move(tx, payout, 'Returned', failure))
        return true
      }),
  }
}

async function locked(tx: Tx, partnerId: string, id: string): Promise<store.PayoutRow> {
  return present(await store.lockPayout(tx, partnerId, id), 'a payout that a worker or a bank names exists')
}

/** The events of a customer's withdrawal; the partner's own payout has none but the change of status. */
async function tell(
  { clock, eventOutbox, customers }: PayoutsDeps,
  tx: Tx,
  payout: store.PayoutRow,
  what: 'accepted' | 'sent' | 'failed',
  failure?: Failure,
): Promise<void> {
  const { partnerId, customerId } = payout
  if (customerId === null) return
  const payers = await customers.payersByIds(tx, [{ partnerId, id: customerId }])
  const data = withdrawal(payout, present(payers.get(`${partnerId} ${customerId}`), "a payout's customer exists"))
  const now = clock.now()
  if (what === 'failed')
    eventOutbox.append(
      tx,
      payout.partnerId,
      'partner.customer.withdrawal.failed',
      now,
      failed(data, failure?.details ?? null),
    )
  else eventOutbox.append(tx, payout.partnerId, `partner.customer.withdrawal.${what}`, now, data)
}

/** A return after settlement: a new transaction of its own, completed at once, that names the one it gives back. */
async function giveBack(
  { ledger, transactions, railId }: PayoutsDeps,
  tx: Tx,
  payout: store.PayoutRow,
  moved: () => Promise<void>,
): Promise<void> {
  const { partnerId, amount, currency, customerId } = payout
  await moved()
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
  await transactions.noteAfterEnd(tx, partnerId, payout.transactionId, 'Returned')
  await transactions.conclude(tx, partnerId, refund.id, { status: 'Completed', steps: ['Settled', 'Credited'] })
}
