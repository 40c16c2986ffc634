/**
 * Holds of payments: why a payment waits or would be refused, what the partner reads about it, and what staff do. The
 * table has one row for each kind; no other code writes a reason for a partner.
 */
import type { ResponseOf } from '@partner-payments/wire'
import type { CaseKind } from '../cases/index.ts'

/**
 * Text for a partner about a kind of hold. Nothing more than `OperatorCheck` may be said of names and rules (AMLD,
 * article 39).
 */
type PartnerWords = Pick<PartnerHold, 'reason' | 'actor'> & { readonly evidence: readonly string[] }
export type PartnerHold = NonNullable<ResponseOf<'getTransactionTimeline'>['hold']>
type HoldKind = PartnerHold['kind']

export const partnerWords: Readonly<Record<HoldKind, PartnerWords>> = {
  Approval: {
    reason: 'A second person of your team has to approve the payout.',
    actor: 'Approver',
    evidence: ['For your approver: the document that the payout pays, such as an invoice.'],
  },
  OperatorCheck: {
    reason: 'The operator checks the payment.',
    actor: 'Operator',
    evidence: ['Who pays, who is paid, and what for: an invoice or a contract.'],
  },
  Sending: { reason: 'The payment is accepted, and is sent next.', actor: 'Operator', evidence: [] },
  BankWindow: { reason: 'The bank takes the payment when it is open again.', actor: 'Bank', evidence: [] },
  BankAnswer: { reason: 'The bank has not answered. It is asked again.', actor: 'Bank', evidence: [] },
  BankExecution: { reason: 'The bank has the payment and executes it.', actor: 'Bank', evidence: [] },
  PayeeCheck: {
    reason:
      "The payee's bank knows the account under another name. The operator and its bank decide whether the payment leaves.",
    actor: 'Operator',
    evidence: ['The name of the account holder, as the payee confirms it.'],
  },
  PayeeName: {
    reason: 'An earlier check found another name for the account of the payee.',
    actor: 'You',
    evidence: ['The name of the account holder, as the payee confirms it.'],
  },
  Recall: {
    reason: "The payee's bank is asked to send the money back.",
    actor: 'PayeeBank',
    evidence: ['What proves the reason of the recall, such as a report to the police.'],
  },
  Payer: { reason: 'The payer has not paid, or not all of it.', actor: 'Payer', evidence: [] },
  PayerData: {
    reason: "The payer's bank has not said who pays. It is asked.",
    actor: 'Bank',
    evidence: ['The name, the account and the address of the payer, for its bank to confirm.'],
  },
  WalletOwnership: {
    reason: 'It is not known who controls the wallet.',
    actor: 'You',
    evidence: ['A proof of ownership that the wallet signs, or the name of the provider that keeps the wallet.'],
  },
  Booking: { reason: 'The bank has announced the money and has not booked it.', actor: 'Bank', evidence: [] },
  OperatorCase: {
    reason: 'The bank and the payment do not agree. The operator decides where the money belongs.',
    actor: 'Operator',
    evidence: ['Who paid, when, how much, and what for.'],
  },
  AccountBlocked: {
    reason: 'The account or the balance is blocked or closed.',
    actor: 'Operator',
    evidence: ['What the operator has asked for because of the block.'],
  },
  CustomerVerification: {
    reason: 'The verification of the customer does not allow it.',
    actor: 'You',
    evidence: ['The KYC data and the proofs that the customer lacks: read its capabilities.'],
  },
  CoolingOff: { reason: 'The payee is new or has changed, and cannot be paid yet.', actor: 'Time', evidence: [] },
  Limit: { reason: 'The amount is above what a limit of the operator leaves.', actor: 'You', evidence: [] },
  Funds: { reason: 'The balance does not cover the amount and the fee.', actor: 'You', evidence: [] },
  SegregatedFunds: {
    reason: 'The balance is segregated: the money of this payer does not cover the amount and the fee.',
    actor: 'You',
    evidence: [],
  },
  Country: { reason: 'The operator accepts no payments of this country.', actor: 'You', evidence: [] },
}

type HoldRow = {
  /** The kind that is shown to the partner. */
  readonly told: HoldKind
  /** First step for staff. The runbook has the rest. */
  readonly staff: string
}

const decideHit = 'Decide the hit: screening show, screening decide.'
const lookAtCase = 'Decide the case: case show, case propose.'

/** All holds. A kind of hold without a row does not compile. */
export const holds = {
  approval: {
    told: 'Approval',
    staff:
      'Another service account of the partner approves or rejects it. It is cancelled when the time for that is over.',
  },
  names: { told: 'OperatorCheck', staff: decideHit },
  texts: { told: 'OperatorCheck', staff: `${decideHit} A text or a country of the payment holds it.` },
  monitoring: {
    told: 'OperatorCheck',
    staff: 'Decide the alert of monitoring: monitoring alert list, case propose.',
  },
  /** A name, a text, a country or a rule. The partner cannot tell which. */
  decision: { told: 'OperatorCheck', staff: decideHit },
  frozen: { told: 'OperatorCheck', staff: lookAtCase },
  sending: {
    told: 'Sending',
    staff: 'The worker has not sent it. Look at the alerts PaymentsQueueStuck and PaymentsProcessDown.',
  },
  bankWindow: { told: 'BankWindow', staff: 'The bank is closed. The payment leaves when it opens.' },
  bankAnswer: {
    told: 'BankAnswer',
    staff: 'The bank has not answered. The service asks it again, and ends the payout after the last attempt.',
  },
  execution: {
    told: 'BankExecution',
    staff: 'The bank has it. Ask the bank by the end-to-end id; `bank payment` shows its reports.',
  },
  payeeCheck: {
    told: 'PayeeCheck',
    staff: 'The bank found another name for the account: release or withdraw the payment at the bank.',
  },
  payeeName: { told: 'PayeeName', staff: 'The partner corrects the name of the payee.' },
  recall: { told: 'Recall', staff: "Wait for the answer of the payee's bank; `bank payment` shows the recall." },
  payer: { told: 'Payer', staff: 'The payer pays, or the deposit expires.' },
  payerData: {
    told: 'PayerData',
    staff: "Write to the payer's bank, and record its answer: payer-data decide.",
  },
  walletOwnership: {
    told: 'WalletOwnership',
    staff: 'The partner proves who controls the wallet, or names its provider. After the deadline, decide the case.',
  },
  booking: { told: 'Booking', staff: 'The bank books the money. Look at its statements.' },
  unclear: { told: 'OperatorCase', staff: lookAtCase },
  receivingBlocked: { told: 'AccountBlocked', staff: lookAtCase },
  receivingGate: { told: 'CustomerVerification', staff: lookAtCase },
  accountBlocked: { told: 'AccountBlocked', staff: 'account unblock, when its reason is gone.' },
  customerGate: { told: 'CustomerVerification', staff: 'The partner completes the verification of the customer.' },
  coolingOff: { told: 'CoolingOff', staff: 'It can be paid when the time is over.' },
  limit: { told: 'Limit', staff: 'limit list shows the limits of the partner.' },
  funds: { told: 'Funds', staff: 'The partner pays in.' },
  segregatedFunds: { told: 'SegregatedFunds', staff: 'segregation list says whose money the balance has.' },
  country: { told: 'Country', staff: 'screening country list shows the rules.' },
} as const satisfies Readonly<Record<string, HoldRow>>

/** `by`: the deadline or the expected end. Null: unknown. */
export type Hold = { readonly kind: keyof typeof holds; readonly by: Date | null }

/** Hold of the money of a case, by kind of case. */
export const holdsOfCases: Readonly<Record<CaseKind, Hold['kind']>> = {
  unknown_payment: 'unclear',
  contradiction: 'unclear',
  amount_differs: 'unclear',
  credit_reversed: 'unclear',
  bank_fee: 'unclear',
  doubled: 'unclear',
  unknown_debit: 'unclear',
  file_unreadable: 'unclear',
  file_refused: 'unclear',
  message_differs: 'unclear',
  statement_gap: 'unclear',
  statement_overlap: 'unclear',
  sum_differs: 'unclear',
  payment_missing: 'unclear',
  foreign_currency: 'unclear',
  entry_unclear: 'unclear',
  announced_missing: 'unclear',
  payee_mismatch: 'payeeCheck',
  recall_letter: 'recall',
  unexplained: 'unclear',
  sanctions_hold: 'frozen',
  account_blocked: 'receivingBlocked',
  customer_not_verified: 'receivingGate',
  safeguarding: 'unclear',
  monitoring_alert: 'frozen',
  payer_data_missing: 'payerData',
}

/** Returns what a partner reads. An operator's check has no time, because the time would reveal its kind. */
export function explainHold({ kind, by }: Hold): PartnerHold {
  const row: HoldRow = holds[kind]
  const { reason, actor, evidence } = partnerWords[row.told]
  const until = row.told === 'OperatorCheck' ? null : by
  return { kind: row.told, reason, actor, by: until === null ? null : until.toISOString(), evidence: [...evidence] }
}
