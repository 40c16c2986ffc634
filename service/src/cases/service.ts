/** Opens and reads cases. Decisions about them: decisions.ts. */
import { amountText, assert, type Clock, type Log, newId, present, type RowKey, type Money } from '../kernel/index.ts'
import type { Entry, Ledger } from '../ledger/index.ts'
import type { FactQueue } from '../inbox/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { recordDecision, withoutProposal } from './decisions.ts'
import { type CaseKind, caseEntry, openingTransfer, operatorPartnerId, reversingTransfer } from './rules.ts'
import { readCaseReport, toReturn } from './report.ts'
import * as store from './store.ts'
import * as numbers from './store-numbers.ts'

export type NewCase = {
  /** Default: a new id. */
  readonly id?: string
  /** The partner whose ledger holds the money. `operatorPartnerId` if the partner is unknown. */
  readonly partnerId: string
  readonly kind: CaseKind
  readonly connector: string
  readonly notificationId: string
  readonly subject: string
  /** The bank's report, for operators. */
  readonly report: object
  /** Money booked to suspense, negative if it left. Null without money. */
  readonly booked: Money | null
}

export type Cases = {
  /**
   * Opens a case and books its money in its own transaction. Returns false if the notification already has a case.
   * `also` runs in the same transaction.
   */
  readonly open: (opened: NewCase, also?: (tx: Tx, caseId: string) => Promise<void>) => Promise<boolean>
  /**
   * Records cases and returns the entries of their money. The caller books them in the same transaction with its own
   * entries, so that accounts are locked once and in one order.
   */
  readonly record: (tx: Tx, opened: readonly NewCase[]) => Promise<readonly Entry[]>
  /**
   * Resolves cases whose payments continue because of a decision made elsewhere, such as in screening. The caller books
   * the money away from suspense in the same transaction.
   */
  readonly release: (tx: Tx, keys: readonly RowKey[], note: string) => Promise<void>
  /**
   * Returns the money of cases under a rule that two people approved, or at the request of the partner. Skips decided
   * cases and cases whose report has no payer account.
   */
  readonly sendBack: (tx: Tx, keys: readonly RowKey[], note: string) => Promise<void>
  /**
   * Resolves cases whose bank entry was corrected, and returns the ledger entries that reverse their booking. The
   * caller has locked the cases, and books the entries in the same transaction.
   */
  readonly withdraw: (tx: Tx, rows: readonly store.CaseRow[], note: string) => Promise<readonly Entry[]>
  /**
   * Resolves a case because the partner that owns the account accepts its money, and returns the ledger entries that
   * reverse its booking. The caller has locked the case, and books the entries in the same transaction.
   */
  readonly accept: (tx: Tx, row: store.CaseRow, note: string) => Promise<readonly Entry[]>
  /** Lists open cases, oldest first, newer than the cursor `after`. */
  readonly list: (
    after: Pick<store.CaseRow, 'openedAt' | 'id'> | undefined,
    casesMax: number,
    tx?: Tx,
    wanted?: store.CaseFilter,
  ) => Promise<readonly store.CaseRow[]>
  readonly countsOpen: typeof store.countOpenByKind
  readonly byId: (tx: Tx, partnerId: string, id: string) => Promise<store.CaseRow | undefined>
  /** Reads the resolutions of cases. Null for an open case. */
  readonly resolutionsOf: typeof store.caseResolutions
  /** Locks a case until the commit, so that it cannot be decided meanwhile. */
  readonly hold: typeof store.lockCase
  /** Sums the cases of a partner that were open at a moment, by currency and kind. */
  readonly openAt: (tx: Tx, partnerId: string, moment: Date) => Promise<readonly store.CaseSums[]>
  /** Sums money of all partners that had left by a time and whose case was not decided. */
  readonly debitsOpenAt: typeof store.sumDebitsOpenAt
  /** Returns the opening time of the oldest open case, or null. Frozen money does not count, because it may stay for years. */
  readonly oldestOpen: () => Promise<Date | null>
  /** Sums the open cases of all partners, for reconciliation. */
  readonly openSums: (tx: Tx) => Promise<readonly store.OpenSums[]>
  readonly reversedSums: (tx: Tx) => Promise<readonly store.ReversedSum[]>
  readonly reversed: typeof store.reversedCases
  /** Finds notifications that have a case, open or resolved. */
  readonly withCase: typeof store.notificationsWithCase
  /** Finds notifications that have a case, outside a transaction. */
  readonly idsWithCase: (connector: string, notificationIds: readonly string[]) => Promise<ReadonlySet<string>>
  readonly openOfKind: typeof store.listOpenOfKind
  readonly openAbout: typeof store.openCasesAbout
  /** Lists at most 20 cases about subjects, open or decided, newest first. */
  readonly about: typeof store.casesAbout
  readonly lastRemarks: typeof store.lastNotes
  readonly byIds: typeof store.casesByIds
  /** Lists the open cases of a partner, oldest first, in pages. */
  readonly openOf: typeof store.openCasesOf
  /** Reads the counts for the decision figures. */
  readonly numbers: typeof numbers
}

type CasesDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly ledger: Pick<Ledger, 'enter'>
  readonly facts: FactQueue
  /** Creates the operator's partner, whose ledger holds unclaimed money, if it does not exist. */
  readonly addOperator: (tx: Tx, id: string) => Promise<void>
}

export function createCases(deps: CasesDeps): Cases {
  const { db } = deps
  return {
    open: (opened, also) =>
      db.transaction(async (tx) => {
        const row = await record(deps, tx, opened)
        if (row === undefined) return false
        for (const entry of caseEntries(row, openingTransfer)) await deps.ledger.enter(tx, entry)
        await also?.(tx, row.id)
        return true
      }),
    record: async (tx, opened) => {
      const entries: Entry[] = []
      for (const one of opened) {
        const row = await record(deps, tx, one)
        if (row !== undefined) entries.push(...caseEntries(row, openingTransfer))
      }
      return entries
    },
    release: async (tx, keys, note) => {
      for (const key of keys) await release(deps, tx, key, note)
    },
    sendBack: async (tx, keys, note) => {
      for (const key of keys) await sendBack(deps, tx, key, note)
    },
    withdraw: async (tx, rows, note) => {
      for (const row of rows) await release(deps, tx, row, note)
      return rows.flatMap((row) => caseEntries(row, reversingTransfer))
    },
    accept: async (tx, row, note) => {
      assert(row.resolution === null && row.returningSince === null, `case ${row.id} can still be decided`)
      const end = { resolution: 'matched', resolvedBy: 'partner', note, resolvedAt: deps.clock.now() } as const
      await recordDecision(
        deps,
        tx,
        row,
        { ...row, ...withoutProposal, ...end },
        { kind: 'released', actor: 'partner', note },
      )
      return caseEntries(row, reversingTransfer)
    },
    list: (after, casesMax, tx = db, wanted = {}) => store.openCases(tx, after, casesMax, wanted),
    countsOpen: store.countOpenByKind,
    byId: store.caseById,
    resolutionsOf: store.caseResolutions,
    hold: store.lockCase,
    openAt: store.sumCasesOpenAt,
    debitsOpenAt: store.sumDebitsOpenAt,
    oldestOpen: () => store.oldestOpen(db),
    openSums: store.sumOpenCases,
    reversedSums: store.reversedSums,
    reversed: store.reversedCases,
    withCase: store.notificationsWithCase,
    idsWithCase: async (connector, notificationIds) =>
      new Set((await store.notificationsWithCase(db, connector, notificationIds)).map((row) => row.notificationId)),
    openOfKind: store.listOpenOfKind,
    openAbout: store.openCasesAbout,
    about: store.casesAbout,
    lastRemarks: store.lastNotes,
    byIds: store.casesByIds,
    openOf: store.openCasesOf,
    numbers: {
      decidedAlerts: numbers.decidedAlerts,
      countDecisions: numbers.countDecisions,
      decisionTimes: numbers.decisionTimes,
      countOpenCases: numbers.countOpenCases,
    },
  }
}

/** Records a case. Undefined if the notification already has one. */
async function record(
  { clock, log, addOperator, facts }: CasesDeps,
  tx: Tx,
  opened: NewCase,
): Promise<store.CaseRow | undefined> {
  const { partnerId, kind, connector, notificationId, subject, report, booked } = opened
  const row: store.CaseRow = {
    partnerId,
    id: opened.id ?? newId(),
    kind,
    connector,
    notificationId,
    subject,
    report: JSON.stringify(report, amountsAsText),
    currency: booked?.currency ?? null,
    booked: booked?.amount ?? null,
    openedAt: clock.now(),
    ...undecided,
  }
  if (partnerId === operatorPartnerId) await addOperator(tx, partnerId)
  if ((await store.insertCase(tx, row)) === 0) return undefined
  const { id } = row
  const type = kind === 'monitoring_alert' ? 'alert.opened' : 'case.opened'
  facts.append(tx, [{ partnerId, type, subject: id, facts: { kind } }])
  tx.afterCommit(() =>
    log.error({ caseId: id, partnerId, kind, connector, subject }, 'case opened: an operator must decide it'),
  )
  return row
}

async function release(deps: CasesDeps, tx: Tx, { partnerId, id }: RowKey, note: string): Promise<void> {
  const row = present(await store.lockCase(tx, partnerId, id), `no case ${id} for the money that waits`)
  assert(row.resolution === null, `case ${id} is open while its money waits`)
  const end = { resolution: 'released', resolvedBy: 'service', note, resolvedAt: deps.clock.now() } as const
  await recordDecision(
    deps,
    tx,
    row,
    { ...row, ...withoutProposal, ...end },
    { kind: 'released', actor: 'service', note },
  )
}

async function sendBack(deps: CasesDeps, tx: Tx, { partnerId, id }: RowKey, note: string): Promise<void> {
  const row = present(await store.lockCase(tx, partnerId, id), `no case ${id} for the money that waits`)
  const { currency, booked, resolution, returningSince } = row
  const isHere = currency !== null && booked !== null && booked > 0n && resolution === null && returningSince === null
  if (!isHere || readCaseReport(row).debtor === undefined) return
  const now = deps.clock.now()
  const proposal = JSON.stringify({ action: 'return', note })
  const proposed = { proposalId: newId(), proposal, proposedBy: 'service', proposedAt: now }
  await store.insertReturn(tx, toReturn(row, { currency, amount: booked }, proposed.proposalId, now))
  await recordDecision(
    deps,
    tx,
    row,
    { ...row, ...proposed, returningSince: now },
    { kind: 'approved', actor: 'service', note },
  )
}

const undecided = {
  ...withoutProposal,
  resolvedAt: null,
  resolution: null,
  resolvedBy: null,
  approvedBy: null,
  note: null,
  disposition: null,
  returningSince: null,
  ownerId: null,
  ownerName: null,
  ownedSince: null,
} as const

/** Formats amounts of a report as decimal numbers of their currency. */
const amountsAsText = (_key: string, value: unknown): unknown =>
  isMoney(value) ? { ...value, amount: amountText(value.amount, value.currency) } : value
const isMoney = (value: unknown): value is Money =>
  typeof value === 'object' && value !== null && 'currency' in value && typeof (value as Money).amount === 'bigint'

const caseEntries = (row: store.CaseRow, transfer: typeof openingTransfer): readonly Entry[] =>
  row.currency === null || row.booked === null
    ? []
    : [caseEntry(row, row.currency, transfer(row.connector, row.booked))]
