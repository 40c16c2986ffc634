/** The operations of monitors. A worker evaluates the balances (work.ts). */
import { type BodyOf, monitors as wire, type QueryOf } from '@partner-payments/wire'
import { notFound, type Page, Refusal, refuseFields, requireMembers } from '../../kernel/api/index.ts'
import { firstIdOf, newId, nilId, present } from '../../kernel/index.ts'
import { inTransaction, type Tx } from '../../postgres/index.ts'
import type { Balance } from '../../ledger/index.ts'
import { allVisibleBefore, createMonitorStep, type MonitorsDeps } from './work.ts'
import { applyTermChanges, restartsMonitor, measuredAmount, type MonitorTerms, parseTerms } from './rules.ts'
import * as store from './store.ts'

/** `lastBalance`: null until a worker has evaluated the monitor. */
export type Monitor = store.MonitorRow & { readonly lastBalance: bigint | null }
export type CrossingItem = store.CrossingRow & Pick<store.MonitorRow, 'id' | 'currency'>
type BalanceOfPartner = store.BalanceKey

export type Monitors = {
  /**
   * Creates a monitor. Refuses: not_found (the balance), validation_failed (amounts, addresses), account_blocked (it is
   * closed), monitor_limit_reached.
   */
  readonly createMonitor: (key: BalanceOfPartner, body: BodyOf<'createAccountMonitor'>, tx?: Tx) => Promise<Monitor>
  /** Lists monitors, newest first. Refuses: not_found (the balance), validation_failed (cursor). */
  readonly listMonitors: (key: BalanceOfPartner, query: QueryOf<'listAccountMonitors'>) => Promise<Page<Monitor>>
  /** Reads a monitor. Refuses: not_found. */
  readonly getMonitor: (key: BalanceOfPartner, id: string) => Promise<Monitor>
  /** Changes a monitor. Refuses: not_found, validation_failed (no field, amounts, addresses), account_blocked (the monitor has ended). */
  readonly updateMonitor: (key: BalanceOfPartner, id: string, body: BodyOf<'updateAccountMonitor'>) => Promise<Monitor>
  /** Deletes a monitor. Refuses: not_found. */
  readonly deleteMonitor: (key: BalanceOfPartner, id: string) => Promise<void>
  /** Lists crossings, newest first. Refuses: not_found, validation_failed (cursor). */
  readonly listCrossings: (
    key: BalanceOfPartner,
    id: string,
    query: QueryOf<'listAccountMonitorCrossings'>,
  ) => Promise<Page<CrossingItem>>
  /** Evaluates balances that have moved. Returns the number of balances with more to read; 0: all are evaluated. */
  readonly monitorStep: () => Promise<number>
  /** Returns the time up to which this process has found every crossing. */
  readonly evaluatedUntil: () => Date
}

export function createMonitors(deps: MonitorsDeps): Monitors {
  const { db, cursors, ledger } = deps
  const balance = (tx: Tx, { partnerId, accountId }: BalanceOfPartner) =>
    requireBalance(ledger, tx, partnerId, accountId)
  const find = async (tx: Tx, key: BalanceOfPartner, id: string) => {
    const row = await store.monitorById(tx, key, id)
    if (row === undefined) throw notFound('monitor')
    return row
  }
  return {
    ...createMonitorStep(deps),
    ...createChanges(deps, find),
    createMonitor: createCreate(deps),
    getMonitor: async (key, id) => toMonitor(await find(db, key, id), await store.readBalance(db, key)),
    listMonitors: async (key, query) => {
      await balance(db, key)
      const list = `monitors:${key.partnerId}:${key.accountId}`
      const request = cursors.read(list, query)
      const page = cursors.page(list, request, await store.listMonitors(db, key, request))
      const evaluated = await store.readBalance(db, key)
      return { ...page, data: page.data.map((row) => toMonitor(row, evaluated)) }
    },
    listCrossings: async (key, id, query) => {
      const { currency } = await find(db, key, id)
      const list = `crossings:${key.partnerId}:${id}`
      const request = cursors.read(list, query)
      const rows = await store.listCrossings(db, key.partnerId, id, request)
      const items = rows.map((row) => ({ ...row, id: row.position, currency }))
      return cursors.page(list, request, items)
    },
  }
}

/** Checks that the balance exists. Refuses: not_found. */
async function requireBalance(
  ledger: MonitorsDeps['ledger'],
  tx: Tx,
  partnerId: string,
  accountId: string,
): Promise<Balance> {
  const found = (await ledger.balances(tx, partnerId)).find(({ id }) => id === accountId)
  if (found === undefined) throw notFound('balance')
  return found
}

const toMonitor = (row: store.MonitorRow, evaluated: store.BalanceRow | undefined): Monitor => ({
  ...row,
  lastBalance: evaluated === undefined || row.startsAfter > evaluated.position ? null : measuredAmount(row, evaluated),
})

/** Refuses (400, with pointers) addresses of people who are not in the team. Removes duplicates. */
async function requireTeam(
  { membersByAddress }: MonitorsDeps,
  tx: Tx,
  partnerId: string,
  terms: MonitorTerms,
): Promise<MonitorTerms> {
  const { emails } = terms
  if (emails.length === 0) return terms
  const members = await membersByAddress(tx, partnerId, emails)
  return { ...terms, emails: requireMembers(emails, members, '/notify/emails') }
}

function createCreate(deps: MonitorsDeps): Monitors['createMonitor'] {
  const { db, clock, ledger } = deps
  return ({ partnerId, accountId }, body, outerTx) =>
    inTransaction(db, outerTx, async (tx) => {
      const { currency } = await requireBalance(ledger, tx, partnerId, accountId)
      const terms = await requireTeam(deps, tx, partnerId, parseTerms(body, currency))
      const key = { partnerId, accountId }
      const account = (await ledger.standings(tx, [{ ...key, position: nilId }], nilId)).get(accountId)
      if (account?.isClosed === true)
        throw new Refusal('account_blocked', 'The balance is closed and no longer changes.')
      await store.ensureBalance(tx, { ...key, currency, position: nilId })
      const locked = present(await store.lockBalance(tx, key), `no monitored balance ${accountId}`)
      if (locked.monitors >= wire.monitorsPerAccountMax)
        throw new Refusal(
          'monitor_limit_reached',
          `A balance has at most ${wire.monitorsPerAccountMax} monitors. Delete one first.`,
        )
      const evaluated = locked.monitors === 0 ? await startingBalance(deps, tx, locked) : locked
      // Created in this transaction, after the lock: no worker has evaluated the balance up to it.
      const id = newId()
      const now = clock.now()
      const row: store.MonitorRow = {
        ...key,
        id,
        currency,
        ...terms,
        state: 'Armed',
        endReason: null,
        startsAfter: id,
        lastTriggeredAt: null,
        createdAt: now,
        updatedAt: now,
        endedAt: null,
      }
      await store.insertMonitor(tx, row)
      await store.setBalance(tx, { ...evaluated, startsUntil: id, monitors: evaluated.monitors + 1 })
      return toMonitor(row, evaluated)
    })
}

/**
 * Returns the starting position and sums of a balance whose monitors need no earlier movements: the last moment with
 * final sums.
 */
async function startingBalance(deps: MonitorsDeps, tx: Tx, row: store.BalanceRow): Promise<store.BalanceRow> {
  const moment = await allVisibleBefore(tx, deps)
  const sums = (await deps.ledger.balancesAt(tx, row.partnerId, moment)).find(({ id }) => id === row.accountId)
  const { posted, reserved } = present(sums, `no balance ${row.accountId}`)
  return { ...row, position: firstIdOf(moment), posted, reserved }
}

type FindMonitor = (tx: Tx, key: BalanceOfPartner, id: string) => Promise<store.MonitorRow>

/**
 * Creates the operations that change monitors. Each locks the balance, as the worker does, so that a crossing is found
 * before the change or not at all.
 */
function createChanges(deps: MonitorsDeps, find: FindMonitor): Pick<Monitors, 'updateMonitor' | 'deleteMonitor'> {
  const { db, clock } = deps
  const locked = async (tx: Tx, key: BalanceOfPartner, id: string) => {
    const balance = await store.lockBalance(tx, key)
    if (balance === undefined) throw notFound('monitor')
    return { balance, row: await find(tx, key, id) }
  }
  return {
    updateMonitor: (key, id, body) =>
      db.transaction(async (tx) => {
        requireField(body)
        const { balance, row } = await locked(tx, key, id)
        if (row.state === 'Ended')
          throw new Refusal('account_blocked', 'The balance is closed: its monitors have ended.')
        const changed = applyTermChanges(row, body, row.currency)
        const terms = body.notify?.emails === undefined ? changed : await requireTeam(deps, tx, key.partnerId, changed)
        const start = restartsMonitor(row, terms) ? { state: 'Armed' as const, startsAfter: newId() } : {}
        const after = { ...row, ...terms, ...start, updatedAt: clock.now() }
        await store.updateMonitor(tx, after)
        const startsUntil = after.startsAfter > balance.startsUntil ? after.startsAfter : balance.startsUntil
        await store.setBalance(tx, { ...balance, startsUntil })
        return toMonitor(after, balance)
      }),
    deleteMonitor: (key, id) =>
      db.transaction(async (tx) => {
        const { balance, row } = await locked(tx, key, id)
        const endedAt = row.endedAt ?? clock.now()
        await store.updateMonitor(tx, { ...row, state: 'Ended', endReason: 'Deleted', endedAt })
        if (row.state !== 'Ended') await store.setBalance(tx, { ...balance, monitors: balance.monitors - 1 })
      }),
  }
}

/** Refuses (400) a body without a field. */
function requireField(body: BodyOf<'updateAccountMonitor'>): void {
  if (Object.keys(body).length === 0)
    refuseFields([{ pointer: '', code: 'required', message: 'must have at least one field' }])
}
