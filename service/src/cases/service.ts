/** The verbs of cases. Those that book money join the caller's transaction. */
import { Refusal } from '../api/index.ts'
import { amountText, type Clock, type Log, newId } from '../kernel/index.ts'
import { type AccountName, type Entry, entryOf, type Ledger } from '../ledger/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import {
  type Booked,
  type CaseAction,
  type CaseKind,
  openingTransfer,
  operatorPartnerId,
  resolutions,
  reversingTransfer,
  writeOffTransfer,
} from './rules.ts'
import * as store from './store.ts'

export type NewCase = {
  /** Whose ledger the money is booked in; `operatorPartnerId` if it belongs to no partner as far as we know. */
  readonly partnerId: string
  readonly kind: CaseKind
  readonly connector: string
  readonly notificationId: string
  readonly subject: string
  /** What the bank reported, for people. */
  readonly report: object
  /** To suspense. Below zero: money left. Null: the report names no money. */
  readonly booked: Booked | null
}

export type Resolving = {
  readonly partnerId: string
  readonly id: string
  readonly action: CaseAction
  /** Who decided. */
  readonly staff: string
  readonly note: string
  /** `credit`: who gets the money, and how it is credited there from the account `debit` of that partner. */
  readonly credit?: (tx: Tx, money: Booked & { readonly debit: AccountName }) => Promise<string>
  /** `credit`: the partner that gets it. Without it, the one in whose ledger it stands. */
  readonly toPartnerId?: string
}

export type Cases = {
  /** Opens a case and books its money, in a transaction of its own. Answers whether it did: false if the notification has one. */
  readonly open: (opened: NewCase) => Promise<boolean>
  /**
   * Records cases and answers the entries of their money. The caller books them in the same transaction, together with
   * its own, so that accounts are locked once and in one order.
   */
  readonly record: (tx: Tx, opened: readonly NewCase[]) => Promise<readonly Entry[]>
  /** Oldest first, in pages behind `after`. */
  readonly list: (after: store.CaseRow | undefined, casesMax: number) => Promise<readonly store.CaseRow[]>
  /** Ends a case and books its money away from suspense. Refuses: not_found, validation_failed. */
  readonly resolve: (tx: Tx, resolving: Resolving) => Promise<store.CaseRow & store.CaseEnd>
  /** The cases of a partner that were open at a moment, by currency and kind. */
  readonly openAt: (tx: Tx, partnerId: string, moment: Date) => Promise<readonly store.CaseSums[]>
  /** When the oldest open case was opened; null: none is open. */
  readonly oldestOpen: () => Promise<Date | null>
}

type CasesDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly ledger: Pick<Ledger, 'enter'>
  /** Makes the partner in whose ledger unclaimed money stands, if it does not exist. */
  readonly addOperator: (tx: Tx, id: string) => Promise<void>
}

export function createCases(deps: CasesDeps): Cases {
  const { db } = deps
  return {
    open: (opened) =>
      db.transaction(async (tx) => {
        const row = await record(deps, tx, opened)
        if (row === undefined) return false
        for (const entry of openingEntries(row)) await deps.ledger.enter(tx, entry)
        return true
      }),
    record: async (tx, opened) => {
      const entries: Entry[] = []
      for (const one of opened) {
        const row = await record(deps, tx, one)
        if (row !== undefined) entries.push(...openingEntries(row))
      }
      return entries
    },
    list: (after, casesMax) => store.openCases(db, after, casesMax),
    resolve: (tx, resolving) => resolve(deps, tx, resolving),
    openAt: store.casesOpenAt,
    oldestOpen: () => store.oldestOpen(db),
  }
}

/** Undefined if the notification has a case. */
async function record(
  { clock, log, addOperator }: CasesDeps,
  tx: Tx,
  opened: NewCase,
): Promise<store.CaseRow | undefined> {
  const { partnerId, kind, connector, notificationId, subject, report, booked } = opened
  const row: store.CaseRow = {
    partnerId,
    id: newId(),
    kind,
    connector,
    notificationId,
    subject,
    report: JSON.stringify(report, readable),
    currency: booked?.currency ?? null,
    booked: booked?.amount ?? null,
    openedAt: clock.now(),
    resolvedAt: null,
    resolution: null,
    resolvedBy: null,
    note: null,
  }
  if (partnerId === operatorPartnerId) await addOperator(tx, partnerId)
  if ((await store.insertCase(tx, row)) === 0) return undefined
  const { id } = row
  tx.afterCommit(() =>
    log.error({ caseId: id, partnerId, kind, connector, subject }, 'case opened: an operator decides'),
  )
  return row
}

/** Amounts as decimal numbers of their currency. */
const readable = (_key: string, value: unknown): unknown =>
  isMoney(value) ? { ...value, amount: amountText(value.amount, value.currency) } : value
const isMoney = (value: unknown): value is Booked =>
  typeof value === 'object' && value !== null && 'currency' in value && typeof (value as Booked).amount === 'bigint'

const openingEntries = (row: store.CaseRow): readonly Entry[] =>
  row.currency === null || row.booked === null
    ? []
    : [entryOfCase(row, row.currency, openingTransfer(row.connector, row.booked))]

const entryOfCase = (
  { partnerId, id }: Pick<store.CaseRow, 'partnerId' | 'id'>,
  currency: Booked['currency'],
  moved: ReturnType<typeof openingTransfer>,
): Entry => entryOf('direct', { partnerId, currency, partyId: partnerId, reference: `case ${id}`, ...moved })

const refuse = (detail: string) => new Refusal('validation_failed', detail)

async function resolve(deps: CasesDeps, tx: Tx, resolving: Resolving): Promise<store.CaseRow & store.CaseEnd> {
  const { partnerId, id, action, staff, note } = resolving
  const found = await store.lockCase(tx, partnerId, id)
  if (found === undefined) throw new Refusal('not_found', 'No such case.')
  if (found.resolution !== null)
    throw refuse(
      `The case was ${found.resolution} by ${found.resolvedBy ?? ''} at ${found.resolvedAt?.toISOString() ?? ''}.`,
    )
  if ((found.booked === null) !== (action === 'note'))
    throw refuse(
      found.booked === null
        ? 'The case has no money: use note.'
        : 'The case has money: use credit, reverse or write-off.',
    )
  if (found.currency !== null && found.booked !== null)
    await bookAway(deps, tx, found, { currency: found.currency, amount: found.booked }, resolving)
  const end = { resolution: resolutions[action], resolvedBy: staff, note, resolvedAt: deps.clock.now() }
  await store.endCase(tx, found, end)
  return { ...found, ...end }
}

/** Money of another partner's ledger leaves there as it came, and comes in here the same way. */
async function bookAway(
  { ledger }: CasesDeps,
  tx: Tx,
  found: store.CaseRow,
  { currency, amount }: Booked,
  { action, credit, toPartnerId = found.partnerId }: Resolving,
): Promise<void> {
  const reverse = () => ledger.enter(tx, entryOfCase(found, currency, reversingTransfer(found.connector, amount)))
  if (action === 'reverse') await reverse()
  else if (action === 'write-off') await ledger.enter(tx, entryOfCase(found, currency, writeOffTransfer(amount)))
  else if (action === 'credit') {
    if (amount < 0n) throw refuse('The money of the case left: use reverse when it is back, or write-off.')
    if (credit === undefined) throw refuse('Say which partner is credited.')
    if (toPartnerId === found.partnerId) await credit(tx, { currency, amount, debit: 'suspense' })
    else {
      await reverse()
      await credit(tx, { currency, amount, debit: `settlement.${found.connector}` })
    }
  }
}
