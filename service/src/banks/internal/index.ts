/**
 * Internal transfers: a connector without a bank, for payouts to accounts of this installation. It reports a credit to
 * the payee first, and the payout as settled once the credit is booked. Table: rails.internal_transfers. Invariant:
 * each transaction touches the ledger of one partner, so that payer and payee may be on two shards. The row stores the
 * next step, so that a crash between two steps loses nothing (docs/decisions/0083).
 */
import type { ErrorKey } from '@partner-payments/wire'
import { type Clock, type Currency, partnerKey, present } from '../../kernel/index.ts'
import { groupByShard, type Database } from '../../postgres/index.ts'
import {
  type Acknowledgement,
  type BankNotification,
  callTimeoutMsMax,
  type Connector,
  type Forecast,
  type IncomingDebtor,
  type Instruction,
  type InstructionKey,
  internalConnectorId,
  untilAborted,
} from '../../rails/index.ts'
import * as store from './store.ts'

export { eraseInternalTransfers } from './store.ts'

/** The reason why an account cannot be credited. `reasonCode`: ISO 20022, ExternalStatusReason1Code. */
export type PayeeProblem = { readonly errorKey: ErrorKey; readonly details: string; readonly reasonCode: string }

type PayeeAccount = { readonly account: string; readonly currency: Currency }
type PayerRef = { readonly partnerId: string; readonly customerId: string | null }

type InternalConnectorDeps = {
  readonly db: Database
  readonly clock: Clock
  /** Returns for each account, in order, why it cannot be credited in the currency; undefined if it can. */
  readonly findProblems: (payees: readonly PayeeAccount[]) => Promise<readonly (PayeeProblem | undefined)[]>
  /** Reads the payers, in order. */
  readonly readDebtors: (payers: readonly PayerRef[]) => Promise<readonly IncomingDebtor[]>
}

const limits = { instructionsPerCallMax: 256, callsMax: 2, callTimeoutMs: callTimeoutMsMax } as const

export function createInternalConnector(deps: InternalConnectorDeps): Connector {
  const { db, clock, readDebtors } = deps
  const receive = createReceive(deps)
  return {
    id: internalConnectorId,
    limits,
    forecast: (_payment, at) => forecastToday(at),
    instruct: async (instructions, options) => {
      const received = await untilAborted(receive(instructions), options)
      return instructions.map((one) => present(received.get(keyOf(one)), `no answer for instruction ${one.id}`))
    },
    find: async (keys, options) => {
      const read = Promise.all(groupByShard(db, keys).map((group) => store.answersByIds(db, group)))
      const found = new Map((await untilAborted(read, options)).flat().map((row) => [keyOf(row), toAnswer(row)]))
      return keys.map((key) => found.get(keyOf(key)))
    },
    notifications: async (notificationsMax, options) => {
      const due = await untilAborted(store.dueTransfers(db, clock.now(), notificationsMax), options)
      const debtors = await untilAborted(readDebtors(due), options)
      return due.map((row, index) => toNotification(row, present(debtors[index], `no payer for transfer ${row.id}`)))
    },
    notificationsDue: store.transfersDue,
    oldestNotification: (now) => store.oldestDue(db, now),
    acknowledge: async (notifications, options) => {
      const now = clock.now()
      const ended = (['credit', 'settle'] as const).flatMap((step) => {
        const keys = notifications.flatMap(({ partnerId, subjectId: id, kind }) =>
          (kind === 'credit.booked') === (step === 'credit') ? [{ partnerId, id }] : [],
        )
        return groupByShard(db, keys).map((group) => store.endStep(db, group, step, now))
      })
      await untilAborted(Promise.all(ended), options)
    },
  }
}

/** Forecasts an internal transfer, which arrives on the same day. */
function forecastToday(at: Date): Forecast {
  const day = at.toISOString().slice(0, 10)
  return { possible: true, method: 'Internal', cutOffAt: null, submitsAt: at, valueDate: day, arrivesOn: day }
}

/** Stores instructions with their answers. A repeated instruction keeps its first answer. */
function createReceive({ db, clock, findProblems }: InternalConnectorDeps) {
  return async (instructions: readonly Instruction[]): Promise<ReadonlyMap<string, Acknowledgement>> => {
    const grouped = [...Map.groupBy(instructions, keyOf).values()]
    const ones = grouped.flatMap(([one, ...repeated]) => (one ? [{ one, times: 1 + repeated.length }] : []))
    // Read before the transactions, because payees may be on other shards than payers.
    const problems = await findProblems(
      ones.map(({ one: { creditorAccount: account, currency } }) => ({ account, currency })),
    )
    const now = clock.now()
    const rows = ones.map(({ one, times }, index) => toRow(one, times, problems[index], now))
    const received = await Promise.all(
      groupByShard(db, rows).map((group) => db.transaction((tx) => store.receiveTransfers(tx, group))),
    )
    return new Map(received.flat().map((row) => [keyOf(row), toAnswer(row)]))
  }
}

function toRow(one: Instruction, timesReceived: number, problem: PayeeProblem | undefined, now: Date) {
  const { partnerId, id, endToEndId, amount, currency, creditorName, creditorAccount, remittance } = one
  const accepted = problem === undefined
  return {
    partnerId,
    id,
    endToEndId,
    amount,
    currency,
    creditorName,
    creditorAccount,
    remittance,
    customerId: one.customerId ?? null,
    reference: one.reference ?? null,
    timesReceived,
    accepted,
    errorKey: problem?.errorKey ?? null,
    errorDetails: problem?.details ?? null,
    reasonCode: problem?.reasonCode ?? null,
    nextStep: accepted ? 'credit' : null,
    dueAt: accepted ? now : null,
    receivedAt: now,
  } as const satisfies store.NewTransfer
}

const toAnswer = ({ accepted, errorKey, errorDetails, reasonCode }: store.AnswerRow): Acknowledgement =>
  accepted ? { accepted } : { accepted, errorKey: errorKey ?? 'Failed', details: errorDetails ?? '', reasonCode }

/** Builds the notification of a transfer's step. The two steps have separate ids, so that a case about one does not end the other. */
function toNotification(row: store.DueTransfer, debtor: IncomingDebtor): BankNotification {
  const { partnerId, id: subjectId, amount, currency, reference, nextStep } = row
  const about = { partnerId, id: `${subjectId} ${nextStep}`, subjectId, money: { currency, amount } }
  if (nextStep === 'settle') return { ...about, kind: 'payout.settled' }
  const { creditorAccount: account, remittance, endToEndId } = row
  const originating = reference === null ? {} : { originatingReference: reference }
  const text = { remittance, endToEndId }
  return { ...about, kind: 'credit.booked', account, debtor, ...text, method: 'Internal', ...originating }
}

const keyOf = ({ partnerId, id }: InstructionKey) => partnerKey(partnerId, id)
