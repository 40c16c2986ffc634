/** Dependencies of the deposits module. */
import type { LatePaymentReason } from '@partner-payments/wire'
import type { FactQueue } from '../inbox/index.ts'
import type { Access } from '../access/index.ts'
import { type Clock, type Currency, isFiat, type Minor, type Money } from '../kernel/index.ts'
import type { Cases } from '../cases/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { EventOutbox } from '../events/index.ts'
import type { AppliedOutcome } from '../lifecycle/index.ts'
import type { Rates } from '../rates/index.ts'
import type { Screening } from '../screening/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { IncomingDebtor } from '../rails/index.ts'
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
  readonly screening: Pick<Screening, 'holdOfMoney' | 'holdsOfCredits' | 'lists' | 'request' | 'textOf'>
  readonly rates: Pick<Rates, 'converter'>
  /** Reports for each payment from a wallet whether it needs a proof of ownership that is missing. */
  readonly proofsMissing: Wallets['ownership']['findMissing']
  readonly refunds: PaymentRefunds
  readonly late: LatePaymentOffers
  /** Finds the owners of accounts: IBANs of customers and addresses of wallets. Unknown accounts are absent. */
  readonly ownersOf: (tx: Tx, accounts: readonly string[]) => Promise<ReadonlyMap<string, AccountOwner>>
}

/** Money of a credit that named a deposit and did not fit it. */
export type UnmatchedMoney = {
  readonly caseId: string
  readonly deposit: Pick<
    Deposit,
    'partnerId' | 'id' | 'status' | 'reference' | 'websiteReference' | 'amount' | 'currency'
  >
  readonly money: Money
  /** Default: derived from the status of the deposit. */
  readonly reason?: LatePaymentReason
}

/** Offers unmatched money to the partner. Implemented by checkout, which is a module above this one. */
export type LatePaymentOffers = {
  /** Runs in the transaction that opens the cases. */
  readonly offer: (tx: Tx, offered: readonly UnmatchedMoney[]) => Promise<void>
}

/** Refunds of a payment. Implemented by checkout, which is a module above this one. */
export type PaymentRefunds = {
  /**
   * Cancels the refunds of a deposit, or of one part, that no worker has begun. Returns all its refunds. The caller
   * holds the lock of the deposit, so that no refund is created meanwhile.
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

/** Owner of an account. Null: the partner itself. */
export type AccountOwner = { readonly partnerId: string; readonly customerId: string | null }

/** Returns the accounts of a credit: from the settlement account of a connector to the partner's balance. */
export const creditAccounts = (connector: string, partnerId: string) =>
  ({ partnerId, debit: `settlement.${connector}`, credit: 'balance' }) as const

/** Maps a payer to a party of the transaction: with a bank account, or with a wallet if it paid in tokens. Omits empty fields. */
export const payerParty = (
  { name, account, bic, countryCode, address }: IncomingDebtor,
  currency: Currency,
): Party => ({
  ...(name === '' ? {} : { accountHolderName: name }),
  ...(account === '' ? {} : isFiat(currency) ? { iban: account } : { walletAddress: account }),
  ...(bic === '' ? {} : { bic }),
  ...(countryCode === '' ? {} : { country: countryCode }),
  ...(address === null ? {} : { address }),
})

/**
 * Result of a bank credit. `partnerId`: the partner whose ledger has a case about it. `depositId`: the deposit that the
 * credit named.
 */
export type CreditOutcome = {
  readonly applied: AppliedOutcome
  readonly partnerId: string
  readonly depositId?: string
}
