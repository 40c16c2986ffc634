/** Pure: the bookings of cases, the actions that fit them, and who may decide. */
import { type AccountName, type Entry, singleEntry } from '../ledger/index.ts'
import { type Currency, dayMs, type Minor, type RowKey } from '../kernel/index.ts'

/** The operator's own partner, whose ledger holds money of unknown partners (RFC 9562, version 8). */
export const operatorPartnerId = '00000000-0000-8000-8000-000000000000'

/**
 * Kinds of cases. Sources: settlement and deposits; `debit.booked` and `oddity` of the connector port; reconciliation;
 * deposits that await a screening decision or payer data; deposits and payouts frozen by a screening decision, where
 * the money of a payout stays reserved; safeguarding; monitoring.
 */
export const caseKinds = [
  'unknown_payment',
  'contradiction',
  'amount_differs',
  'credit_reversed',
  'bank_fee',
  'doubled',
  'unknown_debit',
  'file_unreadable',
  'file_refused',
  'message_differs',
  'statement_gap',
  'statement_overlap',
  'sum_differs',
  'payment_missing',
  'foreign_currency',
  'entry_unclear',
  'announced_missing',
  'payee_mismatch',
  'recall_letter',
  'unexplained',
  'sanctions_hold',
  'account_blocked',
  'customer_not_verified',
  'safeguarding',
  'monitoring_alert',
  'payer_data_missing',
] as const
export type CaseKind = (typeof caseKinds)[number]

/**
 * `match`: the money belongs to a payout, or to the owner of an account. `credit`: a partner gets it. `fees`: bank
 * charges, which the operator bears. `return`: an instruction returns it to the payer. `reverse`: it was returned
 * outside this service. `charge`: the partner bears money that left. `announced`: another message has already reported
 * the entry, and it is counted. `write-off`: the operator keeps the gain or bears the loss. `note`: there is no money,
 * and nothing to do. `release`: closes a monitoring alert, and its payouts continue. `refuse`: fails the payouts that
 * an alert or a listed name holds, and their money is available again.
 */
export const caseActions = [
  'match',
  'credit',
  'fees',
  'return',
  'reverse',
  'charge',
  'announced',
  'write-off',
  'note',
  'release',
  'refuse',
] as const
export type CaseAction = (typeof caseActions)[number]

export const resolutions = {
  match: 'matched',
  credit: 'credited',
  fees: 'booked_to_fees',
  return: 'returned',
  reverse: 'reversed',
  charge: 'charged',
  announced: 'announced',
  'write-off': 'written_off',
  note: 'noted',
  release: 'released',
  refuse: 'refused',
} as const satisfies Readonly<Record<CaseAction, string>>
/**
 * `gone`: the case was resolved automatically, because its cause is gone. `released`: its payments continue, because
 * staff released an alert or cleared the names, or the bank's entry was corrected.
 */
export type Resolution = (typeof resolutions)[CaseAction] | 'gone'

/** Findings of staff about an alert, by the action that closes it. The compliance figures count them. */
const dispositions = {
  release: ['false_positive', 'explained', 'watched', 'suspicious_reported'],
  refuse: ['suspicious_reported', 'fraud', 'unexplained'],
} as const
export type Disposition = (typeof dispositions)[keyof typeof dispositions][number]
export const possibleDispositions = (action: CaseAction): readonly Disposition[] =>
  action === 'release' || action === 'refuse' ? dispositions[action] : []

/** A proposal without a second decision expires, because the facts may have changed. */
export const proposalMsMax = 7 * dayMs

/** Builds the transfer of `amount` from one account to another. A negative amount moves the other way. */
function between(debit: AccountName, credit: AccountName, amount: Minor) {
  return amount > 0n ? { debit, credit, amount } : { debit: credit, credit: debit, amount: -amount }
}

/** Builds the transfer that books incoming money to suspense, or outgoing money from it. */
export const openingTransfer = (connector: string, amount: Minor) =>
  between(`settlement.${connector}`, 'suspense', amount)

export const reversingTransfer = (connector: string, amount: Minor) => openingTransfer(connector, -amount)

export const feesTransfer = (amount: Minor) => between('suspense', 'fees', amount)

export type ActionArguments = {
  readonly toPartnerId?: string
  readonly customerId?: string
  readonly payoutId?: string
  readonly disposition?: Disposition
}

type CaseMoneyAndKind = { readonly kind: CaseKind; readonly booked: Minor | null }

/** Kinds of cases that hold payouts until the decision. A refusal fails these payouts. */
const holdsPayouts: ReadonlySet<CaseKind> = new Set(['monitoring_alert', 'sanctions_hold'])

export const actionsFor = (row: CaseMoneyAndKind, debtorAccount: string | undefined): readonly CaseAction[] =>
  caseActions.filter((action) => actionMisfit(action, row, debtorAccount) === undefined)

function actionMisfit(
  action: CaseAction,
  { kind, booked }: CaseMoneyAndKind,
  debtorAccount: string | undefined,
): string | undefined {
  if (action === 'release' && kind !== 'monitoring_alert') return 'Only an alert of monitoring is released.'
  if (action === 'refuse' && (!holdsPayouts.has(kind) || booked !== null))
    return 'Only an alert of monitoring and a held payout are refused.'
  if (booked === null) {
    if (action === 'release' || action === 'refuse') return undefined
    if (kind === 'monitoring_alert') return 'Use release or refuse: a note decides nothing about payouts.'
    if (kind === 'sanctions_hold') return 'Use refuse: a note decides nothing about the payout.'
    return action === 'note' ? undefined : 'The case has no money: use note.'
  }
  if (action === 'note')
    return 'The case has money: use match, credit, fees, return, reverse, charge, announced or write-off.'
  if (booked > 0n) {
    if (action === 'charge') return 'The money of the case came in: a partner is charged for money that left.'
    const isBare = action === 'return' && debtorAccount === undefined
    return isBare ? 'The report of the bank does not name the account that sent the money.' : undefined
  }
  if (action === 'credit' || action === 'return')
    return 'The money of the case left: use match, fees, charge, announced or write-off, or reverse when it is back.'
  return undefined
}

/** Explains why an action does not fit a case. Undefined if it fits. `booked`: null without money. */
export function explainMisfit(
  action: CaseAction,
  row: CaseMoneyAndKind,
  debtorAccount: string | undefined,
  { customerId, payoutId, disposition }: ActionArguments,
): string | undefined {
  const misfit = actionMisfit(action, row, debtorAccount)
  if (misfit !== undefined) return misfit
  const fitting = row.kind === 'monitoring_alert' ? possibleDispositions(action) : []
  if (fitting.length === 0 && disposition !== undefined) return 'Only the decision about an alert has a disposition.'
  if (fitting.length > 0 && !fitting.some((each) => each === disposition))
    return `State what you found, as the disposition: ${fitting.join(', ')}.`
  if (row.booked === null) return undefined
  if (payoutId !== undefined && action !== 'match') return 'Only match names a payout.'
  if (customerId !== undefined && action !== 'match') return 'Only match names a customer.'
  if (customerId !== undefined && payoutId !== undefined) return 'Name a payout or a customer.'
  if (row.booked < 0n && action === 'match' && payoutId === undefined)
    return 'The money of the case left: name the payout that it paid.'
  return undefined
}

/** Kinds that a note resolves only with a second person: a safeguarding day that does not balance. */
export const twoPersonNoteKinds: ReadonlySet<CaseKind> = new Set(['safeguarding'])

/** Kinds that a partner must not learn of, because it could warn its customer (tipping off; AMLD, Article 39). */
export const kindsHiddenFromPartners: ReadonlySet<CaseKind> = new Set(['sanctions_hold', 'monitoring_alert'])

export const hasExpired = (proposedAt: Date, now: Date): boolean => now.getTime() - proposedAt.getTime() > proposalMsMax

/** Builds the remittance text of returned money, with at most the 140 characters of SEPA. */
export function returnRemittance(endToEndId: string | null, remittance: string | null): string {
  const named = endToEndId === null || endToEndId === '' || endToEndId === 'NOTPROVIDED' ? '' : ` ${endToEndId}`
  return `Return of your payment${named}${remittance ? `: ${remittance}` : ''}`.slice(0, 140).trimEnd()
}

// Returns the ledger entry that moves the money of a case.

export const caseEntry = (
  { partnerId, id }: RowKey,
  currency: Currency,
  moved: ReturnType<typeof openingTransfer>,
): Entry => singleEntry('decision', { partnerId, currency, partyId: partnerId, reference: `case ${id}`, ...moved })
