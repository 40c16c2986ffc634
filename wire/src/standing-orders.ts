/** Payouts that repeat by a schedule. All operations are extensions. */
import { duplicateRules, PayoutNoteUpdate, payoutProblem } from './payouts.ts'
import {
  Amount,
  CalendarDate,
  Currency,
  PaymentAmount,
  Reference,
  Timestamp,
  Type,
  Uuid,
  closed,
  dayTimePattern,
  described,
  oneOf,
  optional,
  page,
  pageQuery,
} from './shapes.ts'
import { currencySums } from './transactions.ts'

export const orderFrequencies = ['Once', 'Daily', 'Weekly', 'Monthly', 'Yearly'] as const
export const businessDayRules = ['Following', 'Preceding', 'None'] as const
/** `RefuseFirst` is a rule of the request only. */
export const orderDuplicateRules = [...duplicateRules, 'RefuseFirst'] as const
export const orderStatuses = ['Active', 'Paused', 'Ended'] as const
export const orderEndReasons = ['Completed', 'Cancelled', 'BeneficiaryDeleted'] as const
export const executionStatuses = ['Made', 'Retrying', 'Failed', 'Skipped'] as const
/** Maximum number of upcoming dates in the response for one order. */
export const datesAheadMax = 12
export const orderDatesMax = 10_000

const frequency = described(
  oneOf(orderFrequencies),
  '`Weekly`: on the weekday of `startsOn`. `Yearly`: on its day and month; 29 February is 28 February in other years.',
)
const startsOn = described(
  CalendarDate,
  'First date of the schedule, `YYYY-MM-DD`, at most five years ahead. `Monthly`: the first date is the first `dayOfMonth` from this day on.',
)
const dayOfMonth = described(
  optional(Type.Integer({ minimum: 1, maximum: 31 })),
  'Only with `Monthly`: the day, 1 to 31. A shorter month has its last day instead, so that 31 is the last day of every month. Default: the day of `startsOn`.',
)
const endsOn = described(
  optional(CalendarDate),
  'Last date that the schedule may have, `YYYY-MM-DD`. Not with `Once` or `count`.',
)
const count = described(
  optional(Type.Integer({ minimum: 1, maximum: orderDatesMax })),
  'How many dates the schedule has, 1 to 10,000. Not with `Once` or `endsOn`.',
)
const businessDayText =
  'Rule for a date on which the currency does not settle. EUR settles on the days of TARGET, GBP on those of London, USD on those of the Federal Reserve. `Following`: the payout is made on the next business day. ' +
  '`Preceding`: on the one before. `None`: on the date itself. A `Daily` schedule has only business days as its dates, unless the rule is `None`.'

const ScheduleCreate = closed({
  frequency,
  startsOn,
  time: described(
    optional(Type.String({ pattern: dayTimePattern })),
    'Time of the day in UTC, all year round: `HH:MM` or `HH:MM:SS`. Default: 06:00.',
  ),
  dayOfMonth,
  endsOn,
  count,
  businessDays: described(optional(oneOf(businessDayRules)), `${businessDayText} Default: \`Following\`.`),
})

export const StandingOrderCreate = closed({
  beneficiaryId: described(Uuid, 'The beneficiary that receives each payout.'),
  amount: described(PaymentAmount, 'Amount of each payout in major units of `currency`. Reserved when it is made.', {
    examples: [12.5],
  }),
  currency: described(Currency, 'Fiat currency, ISO 4217 alpha-3. Must equal the currency of the beneficiary.'),
  reference: described(
    optional(Reference),
    'Text that the beneficiary reads on each statement, 1 to 140 characters. The transaction of the first payout has it as its reference, if you have not used it before.',
  ),
  schedule: described(ScheduleCreate, 'When the payouts are made.'),
  onDuplicate: described(
    optional(oneOf(orderDuplicateRules)),
    '`Refuse`: the order is refused with 422 `possible_duplicate` if its first payout may repeat an earlier payout or the next one of another order. Later a payout of the order that may repeat one outside it is refused with that code, and its date has failed. `RefuseFirst`: the order is refused likewise, and its payouts are made. Default `Allow`.',
  ),
  note: described(
    PayoutNoteUpdate.properties.note,
    'Text for your colleagues, one line of 1 to 500 characters. Each payout of the order gets it as its note. It is sent to no bank and no payee.',
  ),
})

const Schedule = closed({
  frequency,
  startsOn: described(CalendarDate, 'First date of the schedule.'),
  time: described(Type.String(), 'Time of the day in UTC, `HH:MM:SS`.'),
  dayOfMonth: described(optional(Type.Integer()), 'Day of the month. Only with `Monthly`.'),
  endsOn: described(optional(CalendarDate), 'Last date that the schedule may have. Absent without one.'),
  count: described(optional(Type.Integer()), 'How many dates the schedule has. Absent without a number.'),
  businessDays: described(oneOf(businessDayRules), businessDayText),
})

const DateAhead = closed({
  date: described(CalendarDate, 'Date of the schedule.'),
  executesAt: described(Timestamp, 'When the payout is made: `time` on that day, or on the business day in its place.'),
})

export const StandingOrder = closed({
  id: described(Uuid, 'Identifies the standing order.'),
  status: described(
    oneOf(orderStatuses),
    '`Active`: payouts are made. `Paused`: none is made until you resume it. `Ended`: final; `endReason` says why.',
  ),
  endReason: described(
    optional(oneOf(orderEndReasons)),
    '`Completed`: its last date is over. `Cancelled`: by you. `BeneficiaryDeleted`: a payout found no beneficiary. Only if it has ended.',
  ),
  beneficiaryId: described(Uuid, 'The beneficiary that receives each payout.'),
  amount: described(Amount, 'Amount of each payout in major units of `currency`.'),
  currency: described(Currency, 'Currency of each payout, ISO 4217 alpha-3.'),
  reference: described(optional(Reference), 'Text that the beneficiary reads. Absent without one.'),
  onDuplicate: described(
    oneOf(duplicateRules),
    'Rule for a payout that may repeat one outside the order: `Allow` makes it, `Refuse` does not.',
  ),
  note: described(optional(Type.String()), 'Text for your colleagues. Absent without one.'),
  schedule: described(Schedule, 'When the payouts are made.'),
  payoutsMade: described(Type.Integer(), 'How many payouts were made.'),
  nextAttemptAt: described(
    optional(Timestamp),
    'When the next payout is made, or the one that was refused is tried again. Only if the order is active.',
  ),
  nextDates: described(
    optional(Type.Array(DateAhead)),
    'The next dates, at most 12, the one that is tried again included. While the order is paused: those that it would have if you resumed it now. Absent in lists.',
  ),
  createdAt: described(Timestamp, 'Time of the request.'),
  updatedAt: described(Timestamp, 'Time of the last change.'),
  endedAt: described(optional(Timestamp), 'Time at which the order ended. Absent before.'),
})
export const StandingOrderPage = page(StandingOrder)
export const StandingOrderQuery = closed({
  status: described(optional(oneOf(orderStatuses)), 'Only orders with this status.'),
  ...pageQuery,
})
export const StandingOrderSumsQuery = closed({ status: StandingOrderQuery.properties.status })
export const StandingOrderSums = currencySums({
  count: 'Number of orders.',
  amount: 'Sum of what each order pays once, in major units of `currency`.',
})

export const StandingOrderExecution = closed({
  id: described(Uuid, 'Identifies the execution.'),
  date: described(CalendarDate, 'Date of the schedule. An order has one execution for a date.'),
  executesAt: described(Timestamp, 'When the payout was to be made.'),
  status: described(
    oneOf(executionStatuses),
    '`Made`: the payout is made; follow it as any other. `Retrying`: the funds did not suffice, and it is tried again. `Failed`: it was refused. `Skipped`: it was more than three days late, or you paused or cancelled the order before another attempt.',
  ),
  attempts: described(Type.Integer(), 'How often the payout was tried.'),
  payoutId: described(optional(Uuid), 'The `id` of the payout. Only if it is made.'),
  reference: described(
    optional(Type.String()),
    'Reference of the transaction: follow it at `GET /v1/transactions/{reference}`. Only if the payout is made.',
  ),
  problem: described(optional(payoutProblem), 'Refusal of the last attempt. Absent if none was.'),
  createdAt: described(Timestamp, 'Time of the first attempt, or of the decision to skip it.'),
  updatedAt: described(Timestamp, 'Time of the last change.'),
})
export const StandingOrderExecutionPage = page(StandingOrderExecution)
export const StandingOrderExecutionQuery = closed({ ...pageQuery })
