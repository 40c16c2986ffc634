/** Dependencies of the deposits module. */
import type { LatePaymentReason } from '@partner-payments/wire'
import type { FactQueue } from '../inbox/index.ts'
import type { Access } from '../access/index.ts'
import { type Clock, type Currency, isFiat, type Minor } from '../kernel/index.ts'
import type { Cases } from '../cases/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { EventOutbox } from '../events/index.ts'
import type { Applied } from '../lifecycle/index.ts'
import type { Rates } from '../rates/index.ts'
import type { Screening } from '../screening/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { IncomingDebtor, Money } from '../rails/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import type { Party, Transactions } from '../transactions/index.ts'
import type { Deposit } from './store.ts'
import type { Wallets } from '../chains/wallets/index.ts'

export type DepositsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly facts: FactQueue
  readonly access: Access
  readonly cases: Pick<Cases, 'record' | 'release' | 'sendBack'>
  readonly ledger: Ledger
  readonly eventOutbox: EventOutbox
  readonly customers: Customers
  readonly transactions: Transactions
  readonly screening: Pick<Screening, 'holdsOfCredits' | 'lists' | 'request' | 'textOf'>
  readonly rates: Pick<Rates, 'converter'>
  /** Reports for payments from wallets whether each needs a proof of who controls the wallet that is missing. */
  readonly proofsMissing: Wallets['ownership']['areMissing']
  readonly refunds: PaymentRefunds
  readonly late: LateMoney
  /** Finds the owners of accounts: IBANs of customers, addresses of wallets. An unknown account is absent. */
  readonly ownersOf: (tx: Tx, accounts: readonly string[]) => Promise<ReadonlyMap<string, AccountOwner>>
}

/** Money that named a deposit and did not fit it. */
export type OfferedMoney = {
  readonly caseId: string
  readonly deposit: Pick<
    Deposit,
    'partnerId' | 'id' | 'status' | 'reference' | 'websiteReference' | 'amount' | 'currency'
  >
  readonly money: Money
  /** Default: by the status of the deposit. */
  readonly reason?: LatePaymentReason
}

/** Offers money that has a case to the partner. The module of sessions is above this one. */
export type LateMoney = {
  /** Joins the transaction that opens the cases. */
  readonly offer: (tx: Tx, offered: readonly OfferedMoney[]) => Promise<void>
}

/** The refunds of a payment. Their module is above this one. */
export type PaymentRefunds = {
  /**
   * Cancels the refunds of a deposit, or of a part of it, that no worker has begun. Returns these and all that the bank has or gets. The caller holds the deposit,
   * so that no refund is made meanwhile.
   */
  readonly stop: (
    tx: Tx,
    deposit: { readonly partnerId: string; readonly id: string; readonly partId?: string | undefined },
  ) => Promise<
    readonly {
      readonly payoutId: string
      readonly reference: string
      readonly status: string
      readonly currency: Currency
      readonly amount: Minor
    }[]
  >
}

/** Owner of an account. Without a customer it is the partner itself. */
export type AccountOwner = { readonly partnerId: string; readonly customerId: string | null }

/** The accounts of a credit: from the settlement account of a connector to the partner's balance. */
export const credit = (connector: string, partnerId: string) =>
  ({ partnerId, debit: `settlement.${connector}`, credit: 'balance' }) as const

/** The parties of a transaction: a payer has a bank account, or a wallet if it paid in tokens. Empty parts are absent. */
export const partyOf = ({ name, account, bic, countryCode, address }: IncomingDebtor, currency: Currency): Party => ({
  ...(name === '' ? {} : { accountHolderName: name }),
  ...(account === '' ? {} : isFiat(currency) ? { iban: account } : { walletAddress: account }),
  ...(bic === '' ? {} : { bic }),
  ...(countryCode === '' ? {} : { country: countryCode }),
  ...(address === null ? {} : { address }),
})

/** `partnerId`: the partner whose ledger holds a case about the notification. `depositId`: the deposit that the credit named. */
export type CreditApplied = { readonly applied: Applied; readonly partnerId: string; readonly depositId?: string }
