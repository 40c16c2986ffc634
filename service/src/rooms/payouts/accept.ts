/** How a payout is accepted: one transaction that wins the key, opens the transaction, tells and reserves. */
import type { WithdrawalOutcome } from '@partner-payments/wire'
import { type Caller, type Currency, type Minor, newId, Refusal } from '../../kernel/index.ts'
import { KeyTaken } from '../../postgres/index.ts'
import type { NewTransaction } from '../transactions/index.ts'
import type { PayoutsDeps } from './deps.ts'
import { withdrawal } from './events.ts'
import { railOf } from './rules.ts'
import * as store from './store.ts'

export type Creditor = {
  readonly name: string
  readonly account: string
  readonly bic: string | null
  readonly country: string
}

export type NewPayout = {
  readonly operation: 'createFiatPayout' | 'simulateWithdrawal'
  readonly idempotencyKey: string | null
  readonly requestHash: string
  readonly amount: Minor
  readonly currency: Currency
  readonly creditor: Creditor
  readonly beneficiary: { readonly id: string; readonly alias: string | null } | null
  readonly customerId: string | null
  readonly reference: string | null
  readonly simulatedOutcome: WithdrawalOutcome | null
  readonly ip: string
}

/** Load and rules are done. The key is won before the hot balance is locked, which comes last and is held briefly. */
export function createAccept({ db, clock, ledger, outbox, customers, transactions, railId }: PayoutsDeps) {
  return (caller: Caller, request: NewPayout): Promise<store.PayoutRow> =>
    db.transaction(async (tx) => {
      if (railId === undefined)
        throw new Refusal('currency_not_supported', `No bank is connected that pays ${request.currency}.`)
      const { partnerId } = caller
      const id = newId()
      const opened = await transactions.open(tx, toTransaction(caller, request, id))
      const payout = toPayout(
        partnerId,
        request,
        { id, transactionId: opened.id, reference: opened.reference },
        clock.now(),
      )
      if ((await store.insertPayout(tx, payout)) === 0) throw new KeyTaken()
      const { customerId, amount, currency, reference } = payout
      if (customerId !== null) {
        const data = withdrawal(payout, await customers.byId(tx, partnerId, customerId))
        await outbox.append(tx, partnerId, 'partner.customer.withdrawal.requested', payout.createdAt, data)
      }
      await ledger.reserve(tx, {
        partnerId,
        debit: 'balance',
        credit: `settlement.${railId}`,
        currency,
        amount,
        partyId: customerId ?? partnerId,
        reference,
        id: payout.reserveId,
      })
      return payout
    })
}

/** At most 35 characters travel with a payment (ISO 20022, Max35Text): the 32 digits of the payout's id. */
const endToEndIdOf = (payoutId: string) => payoutId.replaceAll('-', '')

function toTransaction(caller: Caller, request: NewPayout, payoutId: string): NewTransaction {
  const { customerId, amount, currency, creditor, beneficiary, idempotencyKey } = request
  return {
    partnerId: caller.partnerId,
    reference: request.reference,
    amount,
    currency,
    category: 'Withdrawal',
    direction: 'Outward',
    type: customerId === null ? 'PartnerWithdraw' : 'PartnerCustomerWithdraw',
    rail: railOf(currency),
    customerId,
    steps: ['Created', 'Reserved'],
    endToEndId: endToEndIdOf(payoutId),
    idempotencyKey,
    creditor: {
      accountHolderName: creditor.name,
      iban: creditor.account,
      country: creditor.country,
      ...(creditor.bic === null ? {} : { bic: creditor.bic }),
    },
    partnerUser: { id: caller.serviceAccountId, name: caller.name, ipAddress: request.ip },
    ...(beneficiary === null ? {} : { beneficiary }),
  }
}

function toPayout(
  partnerId: string,
  request: NewPayout,
  made: { readonly id: string; readonly transactionId: string; readonly reference: string },
  now: Date,
): store.PayoutRow {
  const { creditor, operation, idempotencyKey, requestHash, customerId, amount, currency, simulatedOutcome } = request
  return {
    partnerId,
    ...made,
    operation,
    idempotencyKey,
    requestHash,
    reserveId: newId(),
    beneficiaryId: request.beneficiary?.id ?? null,
    customerId,
    amount,
    currency,
    creditorName: creditor.name,
    creditorAccount: creditor.account,
    creditorBic: creditor.bic,
    creditorCountry: creditor.country,
    remittance: request.reference,
    rail: railOf(currency),
    endToEndId: endToEndIdOf(made.id),
    ipAddress: request.ip,
    simulatedOutcome,
    status: 'Pending',
    errorKey: null,
    errorDetails: null,
    sendAttempts: 0,
    dueAt: now,
    leaseId: null,
    createdAt: now,
    updatedAt: now,
  }
}
