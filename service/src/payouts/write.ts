/** Writes the accepted payouts of a batch: transactions, payouts, events and reserves. */
import { after, newId, partnerKey, present } from '../kernel/index.ts'
import type { Entry } from '../ledger/index.ts'
import type { Tx } from '../postgres/index.ts'
import { writeCounted, writeReference } from './controls/index.ts'
import type { NewTransaction } from '../transactions/index.ts'
import { type PayoutCall, reservesOf } from './calls.ts'
import type { PayoutsDeps } from './deps.ts'
import { withdrawal } from './events.ts'
import type { LookedUp } from './look-up.ts'
import { endToEndIdOf, partyOf, typesOf } from './rules.ts'
import * as store from './store.ts'
import { insertApprovals } from './store-waiting.ts'
import type { ControlledPayout } from './validate.ts'

export type WrittenPayout = { readonly call: PayoutCall; readonly row: store.PayoutRow }

/**
 * Sends the writes with the commit. An idempotency key or a reference that another transaction took since the look-up is a
 * unique violation.
 */
export async function write(
  deps: PayoutsDeps,
  tx: Tx,
  accepted: readonly ControlledPayout[],
  found: LookedUp,
  now: Date,
): Promise<readonly WrittenPayout[]> {
  if (accepted.length === 0) return []
  const made = accepted.map(({ call }): Made => {
    const { caller, operation, idempotencyKey } = call
    const id = newId()
    return { id, endToEndId: endToEndIdOf({ id, partnerId: caller.partnerId, operation, idempotencyKey }) }
  })
  const opened = deps.transactions.openMany(
    tx,
    accepted.map((payout, index) => toTransaction(payout, present(made[index], 'each payout has an id'))),
    found.references,
  )
  const written = accepted.map((payout, index) => {
    const { id: transactionId, reference } = present(opened[index], 'each payout has a transaction')
    const ids = present(made[index], 'each payout has an id')
    return { call: payout.call, row: toPayout(deps, payout, { ...ids, transactionId, reference }, now) }
  })
  const rows = written.map(({ row }) => row)
  store.insertPayouts(tx, rows)
  hold(tx, accepted, rows)
  appendRequested(deps, tx, rows, found, now)
  await reserve(deps, tx, written, found)
  return written
}

function hold(tx: Tx, accepted: readonly ControlledPayout[], rows: readonly store.PayoutRow[]): void {
  const held = accepted.flatMap(({ call: { caller, bulk }, approval }, index) => {
    if (approval === null) return []
    const { partnerId, id: payoutId } = present(rows[index], 'each payout has a row')
    const { because: _because, ...needed } = approval
    const { serviceAccountId: requestedBy, name: requestedName } = caller
    return [{ partnerId, payoutId, ...needed, requestedBy, requestedName, bulkId: bulk?.id ?? null }]
  })
  if (held.length > 0) insertApprovals(tx, held)
}

/** A payout of the partner's own has no withdrawal events. */
function appendRequested(
  { eventOutbox }: PayoutsDeps,
  tx: Tx,
  rows: readonly store.PayoutRow[],
  { customers }: LookedUp,
  now: Date,
): void {
  eventOutbox.appendMany(
    tx,
    rows.flatMap((row) => {
      const { partnerId, customerId } = row
      if (customerId === null) return []
      const customer = present(customers.get(partnerKey(partnerId, customerId)), 'the customer of a beneficiary exists')
      const type = 'partner.customer.withdrawal.requested' as const
      return [{ partnerId, type, occurredAt: now, data: withdrawal(row, customer) }]
    }),
  )
}

function reserve(
  { ledger }: PayoutsDeps,
  tx: Tx,
  written: readonly WrittenPayout[],
  { balances }: LookedUp,
): Promise<void> {
  const reserves = written.map(({ call, row }): Entry => {
    const { reserveId: id, reference, feeAmount } = row
    const transfers = reservesOf(call, { ...row, fee: feeAmount ?? 0n })
    return { id, permit: 'waits', transfers: transfers.map((moved) => ({ ...moved, reference })) }
  })
  // A customer may have been erased since the look-up.
  return ledger.enterMany(tx, reserves, balances.accounts)
}

/** The ids of a payout: its own, and that of its instruction. */
type Made = Pick<store.PayoutRow, 'id' | 'endToEndId'>

function toTransaction(
  { call, rail, creditor, customerId, beneficiary }: ControlledPayout,
  made: Made,
): NewTransaction {
  const { caller, amount, currency, idempotencyKey, quote } = call
  const sold = quote && { amount: quote.sellAmount, currency: quote.sellCurrency }
  const exchange = quote && {
    userAmount: amount,
    userCurrency: currency,
    quoteId: quote.id,
    quoteExpiresAt: quote.expiresAt,
  }
  return {
    partnerId: caller.partnerId,
    reference: call.reference,
    // The amount that leaves the balance.
    ...(sold ?? { amount, currency }),
    ...(exchange === undefined ? {} : { exchange }),
    category: 'Withdrawal',
    direction: 'Outward',
    type: typesOf({ currency, customerId, isExchanged: quote !== undefined, operation: call.operation }).withdrawal,
    rail,
    customerId,
    steps: ['Created', 'Reserved'],
    actor: 'partner',
    endToEndId: call.endToEndId ?? made.endToEndId,
    idempotencyKey,
    creditor: partyOf({ ...creditor, currency }),
    requestedBy: { id: caller.serviceAccountId, name: caller.name, ipAddress: call.ip },
    requestId: caller.requestId,
    ...(beneficiary === null ? {} : { beneficiary }),
    ...(call.originatingReference === undefined ? {} : { originatingReference: call.originatingReference }),
  }
}

function toPayout(
  { waitMsOf }: PayoutsDeps,
  payout: ControlledPayout,
  made: Made & Pick<store.PayoutRow, 'transactionId' | 'reference'>,
  now: Date,
): store.PayoutRow {
  const { call, rail, connector, creditor, customerId, beneficiary } = payout
  const { caller, operation, idempotencyKey, requestFingerprint, amount, currency, payee } = call
  const simulatedOutcome = 'customerId' in payee ? (payee.outcome ?? null) : null
  const waitMs = waitMsOf(connector, { amount, currency, creditorName: creditor.name, simulatedOutcome })
  return {
    partnerId: caller.partnerId,
    id: made.id,
    operation,
    idempotencyKey,
    requestFingerprint,
    transactionId: made.transactionId,
    reference: made.reference,
    reserveId: newId(),
    beneficiaryId: beneficiary?.id ?? null,
    customerId,
    amount,
    currency,
    creditorName: creditor.name,
    creditorAccount: creditor.account,
    creditorBic: creditor.bic,
    creditorCountry: creditor.country,
    creditorAccountType: creditor.accountType ?? null,
    creditorAddressJson: creditor.address ? JSON.stringify(creditor.address) : null,
    remittance: call.reference,
    rail,
    connector,
    endToEndId: made.endToEndId,
    partnerEndToEndId: call.endToEndId ?? null,
    ipAddress: call.ip,
    simulatedOutcome,
    // A payout that waits for an approval is due once it has it.
    status: payout.approval === null ? 'Pending' : 'PendingApproval',
    errorKey: null,
    errorDetails: null,
    sendAttempts: 0,
    dueAt: payout.approval === null ? after(now, waitMs) : null,
    leaseId: null,
    soldAmount: call.quote?.sellAmount ?? null,
    soldCurrency: call.quote?.sellCurrency ?? null,
    quoteId: call.quote?.id ?? null,
    transactionHash: null,
    feeAmount: payout.fee === 0n ? null : payout.fee,
    approvalExpiresAt: payout.approval?.expiresAt ?? null,
    countedIn: writeCounted(payout.limits),
    referenceAmount: writeReference(payout.reference),
    settledBy: null,
    endedBy: null,
    createdAt: now,
    updatedAt: now,
  }
}
