/** Session for the API: its row, the status and money of its deposit, and the opened link. */
import {
  type CheckoutPartStatus,
  type CheckoutStatus,
  type LatePaymentReason,
  type LatePaymentStatus,
  ownJson,
} from '@partner-payments/wire'
import type { Clock, Currency, Minor, Sealer } from '../kernel/index.ts'
import { type Deposit, type Deposits, type DepositWithParts, paidIn, parsePartReport } from '../deposits/index.ts'
import { type LineItem, parseLineItems, checkoutStatus } from './rules.ts'
import type * as store from './store.ts'
import type { Database, SealedColumn } from '../postgres/index.ts'
import type { Access } from '../access/index.ts'
import type { Cursors } from '../kernel/api/index.ts'
import type { EventOutbox } from '../events/index.ts'
import type { BankSimulator, IncomingDebtor } from '../rails/index.ts'
import type { Cases } from '../cases/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Screening } from '../screening/index.ts'
import type { Accounts } from '../accounts/index.ts'
import type { Audit } from '../audit/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import type { Payouts } from '../payouts/index.ts'

export type Session = {
  readonly id: string
  readonly reference: string
  readonly status: CheckoutStatus
  readonly url: string
  readonly amount: Minor
  readonly currency: Currency
  /** Sum of the payments that count, and the amount that is missing. */
  readonly paidAmount: Minor
  readonly remainingAmount: Minor
  readonly partialPayments: boolean
  /** Parts that the partner may see, oldest first. */
  readonly parts: readonly SessionPart[]
  readonly customerId: string
  readonly iban: string
  readonly bic: string | null
  readonly creditorReference: string
  readonly residenceCountry: string | null
  readonly returnUrl: string | null
  readonly description: string | null
  readonly lineItems: readonly LineItem[] | null
  readonly websiteReference: string | null
  /**
   * Name from the bank. Until the bank reports one: the name that the payer of a link typed, or the customer's name.
   * Null: unknown or erased.
   */
  readonly payerName: string | null
  readonly payerEmail: string | null
  readonly linkId: string | null
  /** Unmatched money of the session, oldest first. */
  readonly latePayments: readonly LatePayment[]
  /** Sum of the refunds that are completed or under way, without those of late payments. */
  readonly refundedAmount: Minor
  readonly expiresAt: Date
  readonly createdAt: Date
}

export type LatePayment = {
  readonly id: string
  readonly sessionId: string
  readonly amount: Minor
  readonly currency: Currency
  readonly reason: LatePaymentReason
  readonly status: LatePaymentStatus
  readonly debtorName: string | null
  readonly receivedAt: Date
  readonly chooseBy: Date
  readonly chosenAt: Date | null
  readonly acceptedReference: string | null
  /** Sum of the refunds that are completed or under way. Null: the money was not accepted. */
  readonly refundedAmount: Minor | null
}

export type SessionPart = {
  readonly id: string
  readonly amount: Minor
  readonly status: CheckoutPartStatus
  readonly debtorName: string
  readonly receivedAt: Date
}

/** Returns the money of a deposit without parts under review. A deposit under review has no paid amount either. */
export function depositAmounts(deposit: DepositWithParts): Pick<Session, 'paidAmount' | 'remainingAmount' | 'parts'> {
  const { amount, status, inParts, reversedAt, parts } = deposit
  const isPaid = status === 'Completed' && reversedAt === null
  const paidAmount = inParts ? paidIn(parts) : isPaid ? amount : 0n
  return {
    paidAmount,
    remainingAmount: endedStatuses.has(status) ? 0n : amount - paidAmount,
    parts: parts.flatMap((part) => {
      const { id, amount: counted, receivedAt } = part
      if (part.status === 'Screening') return []
      return [
        { id, amount: counted, status: part.status, debtorName: parsePartReport(part)?.debtor.name ?? '', receivedAt },
      ]
    }),
  }
}

const endedStatuses: ReadonlySet<Deposit['status']> = new Set(['Completed', 'Failed', 'Expired'])

/** Data of a session from other tables. */
export type SessionExtras = {
  readonly refundedAmount: Minor
  readonly latePayments: readonly LatePayment[]
  readonly customerName: string | undefined
}

export type SessionMapper = (row: store.SessionRow, deposit: DepositWithParts, beside: SessionExtras) => Session

export function createSessionMapper(deps: CheckoutDeps): SessionMapper {
  const { sealer } = deps
  const addressOf = createPageUrlBuilder(deps)
  return (row, deposit, { refundedAmount, latePayments, customerName }) => {
    const token = sealer.open(row.tokenSealed, sessionTokenContext(row.partnerId, row.id))
    return {
      id: row.id,
      reference: deposit.reference,
      status: checkoutStatus(deposit.status),
      url: addressOf(row.partnerId, token),
      amount: deposit.amount,
      currency: deposit.currency,
      ...depositAmounts(deposit),
      partialPayments: deposit.inParts,
      customerId: row.customerId,
      iban: row.iban,
      bic: row.bic,
      creditorReference: row.creditorReference,
      residenceCountry: row.residenceCountry,
      returnUrl: row.returnUrl,
      description: row.description,
      lineItems: parseLineItems(row.lineItems),
      websiteReference: deposit.websiteReference,
      payerName: findPayerName(row, deposit) ?? customerName ?? null,
      payerEmail: row.payerEmail,
      linkId: row.linkId,
      latePayments,
      refundedAmount,
      expiresAt: deposit.expiryDate,
      createdAt: row.createdAt,
    }
  }
}

/**
 * Returns the name from the bank, or the name that the payer of a link typed. The name of a payer under review is not
 * returned.
 */
function findPayerName(
  { payerName }: store.SessionRow,
  { status, debtor, parts }: DepositWithParts,
): string | undefined {
  const named = status === 'Completed' && debtor !== null ? ownJson<IncomingDebtor>(debtor).name.trim() : ''
  const counted = parts.find((part) => part.status === 'Held' || part.status === 'Credited')
  return [named, (counted && parsePartReport(counted)?.debtor.name) ?? '', payerName ?? ''].find((name) => name !== '')
}

/** Creates the function that returns the URL of a page: under the partner's own host, if one is configured. */
export function createPageUrlBuilder({ publicUrl, pageUrls }: Pick<CheckoutDeps, 'publicUrl' | 'pageUrls'>) {
  return (partnerId: string, path: string): string => {
    const base = pageUrls.get(partnerId) ?? publicUrl
    return `${base.replace(/\/$/, '')}/checkout/${path}`
  }
}

export const sessionTokenContext = (partnerId: string, sessionId: string) => [
  'checkout.sessions',
  partnerId,
  sessionId,
  'token',
]

export const sealedLinkTokens: SealedColumn = {
  table: 'checkout.sessions',
  column: 'token_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => sessionTokenContext(partnerId, cell('id')),
}

export type CheckoutDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly cursors: Cursors
  readonly access: Pick<Access, 'partnerName'>
  readonly accounts: Pick<Accounts, 'create'>
  readonly audit: Pick<Audit, 'made'>
  readonly customers: Pick<
    Customers,
    | 'accountNamesOf'
    | 'byEmail'
    | 'create'
    | 'hold'
    | 'resolveId'
    | 'payersByIds'
    | 'refusalAbove'
    | 'requireCapability'
  >
  readonly cases: Pick<Cases, 'accept' | 'byIds' | 'hold' | 'sendBack'>
  readonly deposits: Deposits
  readonly ledger: Pick<Ledger, 'enter'>
  readonly screening: Pick<Screening, 'holdOfMoney' | 'lists'>
  readonly eventOutbox: EventOutbox
  readonly payouts: Pick<Payouts, 'acceptance' | 'byIds' | 'byKey'>
  /** The sandbox bank of payers. Undefined: not in the sandbox. */
  readonly bank: Omit<BankSimulator, 'scheduleDeposit' | 'stepMs'> | undefined
  /** Permits http to localhost as a return URL. */
  readonly sandbox: boolean
  /** URL under which payers reach the service. */
  readonly publicUrl: string
  /** URLs of partners whose pages have their own host. */
  readonly pageUrls: ReadonlyMap<string, string>
}
