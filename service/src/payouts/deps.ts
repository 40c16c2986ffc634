/** Dependencies of the operations of payouts. */
import type { Access } from '../access/index.ts'
import type { Cursors } from '../kernel/api/index.ts'
import type { Clock, Currency, Minor } from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { EventOutbox } from '../events/index.ts'
import type { FactQueue } from '../inbox/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { ChooseConnector, Connector, PayerData } from '../rails/index.ts'
import type { Beneficiaries } from '../parties/beneficiaries/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import type { QuoteAcceptances } from '../fx/index.ts'
import type { Screening } from '../screening/index.ts'
import type { Rates } from '../rates/index.ts'
import type { Transactions } from '../transactions/index.ts'
import type { Wallets } from '../chains/wallets/index.ts'
import type { PayoutLife } from './life.ts'
import type { PayoutPermissionCheck } from './advance.ts'

/** Standing order with its next payout. */
export type ScheduledPayoutRow = {
  readonly id: string
  readonly reference: string | null
  readonly amount: Minor
  readonly currency: Currency
  readonly creditorName: string
  readonly creditorAccount: string
  /** When the next payout is created. */
  readonly dueAt: Date
  readonly createdAt: Date
}

export type PayoutsDeps = {
  readonly db: Database
  readonly access: Pick<Access, 'issuerOf'>
  readonly clock: Clock
  /** Reports whether a person or an API key of the partner may create and approve payouts now. */
  readonly mayPay: PayoutPermissionCheck
  readonly cursors: Cursors
  readonly ledger: Ledger
  readonly eventOutbox: EventOutbox
  readonly facts: FactQueue
  readonly customers: Customers
  readonly beneficiaries: Beneficiaries
  readonly transactions: Transactions
  readonly screening: Pick<Screening, 'holdsOf' | 'countries'>
  readonly rates: Pick<Rates, 'converter'>
  readonly quotes: Pick<QuoteAcceptances, 'lockOpen' | 'look' | 'markAccepted'>
  readonly life: Pick<PayoutLife, 'approve' | 'cancel' | 'decline'>
  /** Maximum number of payouts in one transaction; undefined: the default. Benchmarks measure other sizes. */
  readonly payoutsPerBatchMax?: number | undefined
  /** The setting DUPLICATE_PAYMENT_DAYS. */
  readonly duplicateDays: number
  /** Finds active standing orders that pay one of these amounts to one of these accounts. */
  readonly scheduledPayouts: (
    tx: Tx,
    partnerId: string,
    payments: readonly { readonly account: string; readonly amount: Minor }[],
  ) => Promise<readonly ScheduledPayoutRow[]>
  readonly chooseConnector: ChooseConnector
  /** Reports for payments to wallets whether each needs a proof of ownership that is missing. */
  readonly proofsMissing: Wallets['ownership']['findMissing']
  /** Finds the IBANs that this service has issued. `mayHave` needs no statement. */
  readonly ownIbans: {
    readonly mayHave: (iban: string) => boolean
    readonly among: (tx: Tx, ibans: readonly string[]) => Promise<readonly string[]>
  }
  /** Finds a connector by its id. Undefined: this process does not have it. */
  readonly connectorOf: (id: string) => Connector | undefined
  /** Reads the customer data for a bank. Undefined: unknown. */
  readonly readPayers: (
    keys: readonly { readonly partnerId: string; readonly customerId: string }[],
  ) => Promise<readonly (PayerData | undefined)[]>
}
