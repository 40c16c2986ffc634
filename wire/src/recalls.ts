/** Requests to recall a settled payout. All operations are extensions. */
import {
  Amount,
  CalendarDate,
  Currency,
  Timestamp,
  Type,
  Uuid,
  closed,
  described,
  oneOf,
  optional,
  singleLine,
  meaningsText,
} from './shapes.ts'

/** ISO 20022, ExternalCancellationReason1Code, as SEPA accepts them from the payer. */
export const recallReasons = ['DUPL', 'TECH', 'FRAD', 'CUST', 'AC03', 'AM09'] as const
export type RecallReason = (typeof recallReasons)[number]
export const recallStatuses = ['Requested', 'Sent', 'Accepted', 'Refused', 'Expired'] as const

/** The meaning of each status of a recall, in the order of its life. */
const statusMeanings: Readonly<Record<(typeof recallStatuses)[number], string>> = {
  Requested: 'the bank does not have the request yet',
  Sent: 'the bank has the request, and its answer is due on `answerDueOn`',
  Accepted: 'the recipient sends money back, or has sent it: then there is a `returnReference`',
  Refused: 'the recipient keeps the money; `answer` says why',
  Expired: 'no answer came in time. A late answer still counts',
}

export const PayoutRecallCreate = closed({
  reason: described(
    oneOf(recallReasons),
    'Reason for the recall. `DUPL`: paid twice. `TECH`: a technical error. `FRAD`: fraud. `CUST`: you ask for it, for another reason. ' +
      '`AC03`: wrong account. `AM09`: wrong amount.',
    { examples: ['FRAD'] },
  ),
  text: described(
    optional(singleLine(140)),
    "Message to the recipient's bank, sent with the request. 1 to 140 characters.",
    { examples: ['The invoice was forged.'] },
  ),
})

export const PayoutRecall = closed({
  id: described(Uuid, 'Identifies the recall.'),
  payoutId: described(Uuid, 'The `id` of the payout.'),
  payoutReference: described(Type.String(), 'The `reference` of the payout.'),
  reason: described(oneOf(recallReasons), 'The reason that you gave.'),
  text: described(optional(Type.String()), 'The text that you gave. Absent without one.'),
  status: described(oneOf(recallStatuses), meaningsText(statusMeanings)),
  amount: described(Amount, 'Amount of the payout, in major units of `currency`.'),
  currency: described(Currency, 'Currency of the payout, ISO 4217 alpha-3.'),
  requestedAt: described(Timestamp, 'Time of the request.'),
  requestedBy: described(Type.String(), 'Name of the service account that made the request.'),
  requestDueOn: described(CalendarDate, 'Last day on which a recall for this reason could be requested.'),
  sentAt: described(optional(Timestamp), 'When the bank got the request. Absent before that.'),
  answerDueOn: described(
    optional(CalendarDate),
    'Last day for the answer: 15 banking business days after `sentAt`. Absent before that.',
  ),
  answeredAt: described(optional(Timestamp), 'When the answer or the money came. Absent before that.'),
  answer: described(
    optional(
      closed({
        code: described(Type.String(), "The bank's code of ISO 20022, such as `NOAS`, as it sent it."),
        text: described(Type.String(), 'Meaning of the code.'),
      }),
    ),
    'Answer of the bank: the reason of a refusal, or a remark. Absent if it gave no code.',
  ),
  bankText: described(
    optional(Type.String()),
    "The bank's own words in its answer, in its language: one line of plain text, at most 500 characters. " +
      'Absent if it gave none, and after the erasure of the customer.',
  ),
  expiredAt: described(
    optional(Timestamp),
    'When the time for the answer ended without one. It stays if an answer comes later.',
  ),
  settledAmount: described(
    optional(Amount),
    'Returned amount, in major units of `currency`. Absent until the money is booked on your balance.',
  ),
  fee: described(
    optional(Amount),
    'Amount that the other bank kept, in major units of `currency`. Absent until money is booked.',
  ),
  returnReference: described(
    optional(Type.String()),
    'The `reference` of the transaction that brought the money back. Absent until it is booked.',
  ),
  returnedAt: described(optional(Timestamp), 'When the money was booked on your balance. Absent before that.'),
})
export const PayoutRecalls = closed({
  data: described(
    Type.Array(PayoutRecall),
    'The recalls of the payout, the newest first. At most one for each reason.',
  ),
})
