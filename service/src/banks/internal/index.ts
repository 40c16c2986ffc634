/**
 * Transfers inside: a connector without a bank, for payouts to an account that this database has issued. It keeps each instruction as a
 * row, has the payee credited first, and reports the payout as settled once the credit is booked.
 *
 * Table: rails.internal_transfers. Invariant: each transaction touches the ledger of one partner, so that payer and payee may be on two
 * shards. The row says which of the two is booked next, so that a crash between them loses nothing: docs/decisions/0083.
 */
import type { ErrorKey } from '@partner-payments/wire'
import { type Clock, type Currency, partnerKey, present } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import {
  type Acknowledgement,
  type BankNotification,
  callTimeoutMsMax,
  type Connector,
  type Forecast,
  type IncomingDebtor,
  type Instruction,
  internalConnectorId,
  untilAborted,
} from '../../rails/index.ts'
import * as store from './store.ts'

export { eraseInternalTransfers } from './store.ts'

/** The reason why an account takes no money. `reasonCode`: ISO 20022, ExternalStatusReason1Code. */
export type PayeeProblem = { readonly errorKey: ErrorKey; readonly details: string; readonly reasonCode: string }

type Payee = { readonly account: string; readonly currency: Currency }
type Payer = { readonly partnerId: string; readonly customerId: string | null }

type InternalConnectorDeps = {
  readonly db: Database
  readonly clock: Clock
  /** Says for each account, in order, why it takes no money in the currency. Undefined: it does. */
  readonly problemsOf: (payees: readonly Payee[]) => Promise<readonly (PayeeProblem | undefined)[]>
  /** Names each payer, in order. */
  readonly debtorsOf: (payers: readonly Payer[]) => Promise<readonly IncomingDebtor[]>
}

const limits = { instructionsPerCallMax: 256, callsMax: 2, callTimeoutMs: callTimeoutMsMax } as const

export function createInternalConnector(deps: InternalConnectorDeps): Connector {
  const { db, clock, debtorsOf } = deps
  const receive = createReceive(deps)
  return {
    id: internalConnectorId,
    limits,
    forecast: (_payment, at) => forecastAt(at),
    instruct: async (instructions, options) => {
      const received = await untilAborted(receive(instructions), options)
      return instructions.map((one) => present(received.get(keyOf(one)), `no answer for instruction ${one.id}`))
    },
    find: async (keys, options) => {
      const read = Promise.all(byShard(db, keys).map((group) => store.answersByIds(db, group)))
      const found = new Map((await untilAborted(read, options)).flat().map((row) => [keyOf(row), toAnswer(row)]))
      return keys.map((key) => found.get(keyOf(key)))
    },
    notifications: async (notificationsMax, options) => {
      const due = await untilAborted(store.dueTransfers(db, clock.now(), notificationsMax), options)
      const debtors = await untilAborted(debtorsOf(due), options)
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
        return byShard(db, keys).map((group) => store.endStep(db, group, step, now))
      })
      await untilAborted(Promise.all(ended), options)
    },
  }
}

/** The money arrives on the day on which it leaves. */
function forecastAt(at: Date): Forecast {
  const day = at.toISOString().slice(0, 10)
  return { possible: true, method: 'Internal', cutOffAt: null, submitsAt: at, valueDate: day, arrivesOn: day }
}

/** Keeps instructions with their answers. The answer to one that is kept already does not change. */
function createReceive({ db, clock, problemsOf }: InternalConnectorDeps) {
  return async (instructions: readonly Instruction[]): Promise<ReadonlyMap<string, Acknowledgement>> => {
    const grouped = [...Map.groupBy(instructions, keyOf).values()]
    const ones = grouped.flatMap(([one, ...repeated]) => (one ? [{ one, times: 1 + repeated.length }] : []))
    // Read before the transactions, because the payees may be on other shards than the payers.
    const problems = await problemsOf(
      ones.map(({ one: { creditorAccount: account, currency } }) => ({ account, currency })),
    )
    const now = clock.now()
    const rows = ones.map(({ one, times }, index) => toRow(one, times, problems[index], now))
    const received = await Promise.all(
      byShard(db, rows).map((group) => db.transaction((tx) => store.receiveTransfers(tx, group))),
    )
    return new Map(received.flat().map((row) => [keyOf(row), toAnswer(row)]))
  }
}

function toRow(one: Instruction, timesReceived: number, problem: PayeeProblem | undefined, now: Date) {
  const { partnerId, id, endToEndId, amount, currency, creditorName, creditorAccount, remittance } = one
  const accepted = problem === undefined
  return {
    ...{ partnerId, id, endToEndId, amount, currency, creditorName, creditorAccount, remittance },
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

/** The two steps have ids of their own: a case about one must not end the other. */
function toNotification(row: store.DueTransfer, debtor: IncomingDebtor): BankNotification {
  const { partnerId, id: subjectId, amount, currency, reference, nextStep } = row
  const about = { partnerId, id: `${subjectId} ${nextStep}`, subjectId, money: { currency, amount } }
  if (nextStep === 'settle') return { ...about, kind: 'payout.settled' }
  const { creditorAccount: account, remittance, endToEndId } = row
  const originating = reference === null ? {} : { originatingReference: reference }
  const text = { remittance, endToEndId }
  return { ...about, kind: 'credit.booked', account, debtor, ...text, method: 'Internal', ...originating }
}

const keyOf = ({ partnerId, id }: { readonly partnerId: string; readonly id: string }) => partnerKey(partnerId, id)

/** Groups rows so that a statement on a sharded database names one partner. */
function byShard<T extends { readonly partnerId: string }>(
  { sharded }: Pick<Database, 'sharded'>,
  rows: readonly T[],
): readonly (readonly T[])[] {
  if (rows.length === 0) return []
  return sharded ? [...Map.groupBy(rows, ({ partnerId }) => partnerId).values()] : [rows]
}
