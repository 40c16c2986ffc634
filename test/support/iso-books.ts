/**
 * A file-based bank without its files: writes what its messages would have written, with the connector's own port towards settlement. For
 * tests of what follows from those rows.
 */
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { type Clock, createLog, type Minor, newId } from '../../service/src/kernel/index.ts'
import { type Database, sql, type Tx } from '../../service/src/postgres/index.ts'
import type { Connector } from '../../service/src/rails/index.ts'
import { createIsoBank } from '../../service/src/banks/files/banks.ts'
import { defaultProfile } from '../../service/src/iso20022/index.ts'
import type { BankRules, Transport } from '../../service/src/banks/files/deps.ts'

export const isoConnector = 'iso20022'
export const isoIban = 'DE02120300000000202051'
const currency = 'EUR' as const
export const isoAccount = { connector: isoConnector, account: isoIban, currency } as const

const absent = () => Promise.reject(new Error('this bank has no files'))
const transport: Transport = {
  list: absent,
  read: async function* read() {
    yield await absent()
  },
  finish: absent,
  stage: absent,
  publish: absent,
  discard: absent,
  close: () => Promise.resolve(),
}

const rules: BankRules = {
  id: isoConnector,
  accounts: [{ iban: isoIban, bic: 'BYLADEM1001', currency, ownerName: 'Operator', ownerAddress: { country: 'DE' } }],
  initiator: { name: 'Operator' },
  preferred: 'Instant',
  instantMax: 100_000_00n,
  reach: { Instant: 'all', CreditTransfer: 'all' },
  unknownBankReachable: true,
  timeZone: 'Europe/Berlin',
  opensAt: 0,
  cutOffAt: 24 * 60 - 1,
  closedDays: new Set(),
  paymentsPerFileMax: 1000,
  fileWindowMs: 0,
  instantWindowMs: 0,
  batchBooking: false,
  profile: defaultProfile,
  chargeBearer: 'SHAR',
  messageBytesMax: 1_000_000,
  unfinishedAfterMs: 1000,
  missingAfterMs: 1000,
  detailsWithinMs: 1000,
  archive: '/nonexistent',
  pollMs: 1000,
}

export type NewEntry = {
  readonly amount: Minor
  readonly kind: 'payout' | 'return' | 'credit' | 'unknown' | 'fee' | 'waiting'
  readonly subjectId?: string
  readonly subjectPartnerId?: string
  /** The ledger has it by an earlier word of the bank. */
  readonly isApplied?: boolean
  readonly statementId?: string
}

/** Contents of a notification besides its ids. Amounts are minor units as text, as the connector keeps them. */
export type Report = { readonly kind: string } & Readonly<Record<string, unknown>>

export function createIsoBooksBank({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  const deps = { db, clock, log: createLog('silent'), rules, transport, operatorId: operatorPartnerId }
  const { connector } = createIsoBank(deps)
  const insertEntry = async (tx: Tx, entry: NewEntry): Promise<string> => {
    const id = newId()
    const { amount, kind, subjectId = null, subjectPartnerId = null, statementId = null, isApplied = false } = entry
    const now = clock.now()
    await tx.run(sql`
      insert into rails.iso_entries (partner_id, id, connector, account, currency, entry_key, amount, booked_on, message_id,
        statement_id, position, is_reversal, payments, codes, refs, counterparty, kind, subject_id, subject_partner_id,
        score, matched_by, status, created_at, applied_at)
      values (${operatorPartnerId}, ${id}, ${isoConnector}, ${isoIban}, ${currency}, ${id}, ${amount},
        ${now.toISOString()}::date, ${id}, ${statementId}, 0, false, 1, 'PMNT', '{}', '{}', ${kind}, ${subjectId},
        ${subjectPartnerId}, 100, '{}', ${isApplied ? 'Applied' : 'New'}, ${now}, ${isApplied ? now : null})`)
    return id
  }
  const notify = async (
    tx: Tx,
    {
      partnerId,
      subjectId,
      entryId = null,
      report,
    }: { partnerId: string; subjectId: string; entryId?: string | null; report: Report },
  ): Promise<string> => {
    const { kind, ...facts } = report
    const id = newId()
    await tx.run(sql`
      insert into rails.iso_notifications (partner_id, id, connector, subject_id, kind, payload, entry_id, due_at)
      values (${partnerId}, ${id}, ${isoConnector}, ${subjectId}, ${kind}, ${JSON.stringify(facts)}, ${entryId}, ${clock.now()})`)
    return id
  }
  return {
    connector: connector as Connector,
    ...createWords({ db, clock }, insertEntry, notify),
    ...createStatements({ db, clock }),
  }
}

type Parts = { readonly db: Database; readonly clock: Clock }
type InsertEntry = (tx: Tx, entry: NewEntry) => Promise<string>
type Notify = (
  tx: Tx,
  given: { partnerId: string; subjectId: string; entryId?: string | null; report: Report },
) => Promise<string>

const money = (amount: Minor) => ({ currency, amount: String(amount) })
type Instruction = { readonly partnerId: string; readonly id: string; readonly amount: Minor }

const setInstruction = (clock: Clock, tx: Tx, { partnerId, id }: Instruction, status: string, entryId: string | null) =>
  tx.run(sql`
    update rails.iso_instructions set status = ${status}, entry_id = coalesce(${entryId}, entry_id),
      settled_at = coalesce(settled_at, ${clock.now()}), missing_since = null, updated_at = ${clock.now()}
    where partner_id = ${partnerId} and id = ${id}`)

/** The booking of payments, of which the bank may have told before: one sum. What was told is not reported again. */
const createBooked =
  ({ db, clock }: Parts, insertEntry: InsertEntry, notify: Notify) =>
  (instructions: readonly Instruction[], statementId?: string) =>
    db.transaction(async (tx) => {
      const told: (Instruction & { readonly status: string; readonly pending: string | undefined })[] = []
      for (const instruction of instructions) {
        const { partnerId, id } = instruction
        const row = await tx.row<{ status: string; settledAt: Date | null }>(sql`
            select status, settled_at from rails.iso_instructions where partner_id = ${partnerId} and id = ${id} for update`)
        const pending = await tx.row<{ id: string }>(sql`
            select id from rails.iso_notifications where partner_id = ${partnerId} and subject_id = ${id}
              and kind = 'payout.settled' for update`)
        const isTold = row?.status === 'Returned' || (row?.settledAt ?? null) !== null
        told.push({ ...instruction, status: isTold ? (row?.status ?? '') : '', pending: pending?.id })
      }
      const [only, ...others] = instructions
      const of =
        only !== undefined && others.length === 0 ? { subjectId: only.id, subjectPartnerId: only.partnerId } : {}
      const isApplied = told.every(({ status, pending }) => status !== '' && pending === undefined)
      const amount = -instructions.reduce((sum, one) => sum + one.amount, 0n)
      const on = statementId === undefined ? {} : { statementId }
      const entryId = await insertEntry(tx, { amount, kind: 'payout', isApplied, ...of, ...on })
      for (const one of told) {
        const { partnerId, id: subjectId, status, pending } = one
        await setInstruction(clock, tx, one, status === 'Returned' ? 'Returned' : 'Settled', entryId)
        if (pending !== undefined)
          await tx.run(sql`
              update rails.iso_notifications set entry_id = ${entryId} where partner_id = ${partnerId} and id = ${pending}`)
        else if (status === '')
          await notify(tx, {
            partnerId,
            subjectId,
            entryId,
            report: { kind: 'payout.settled', money: money(one.amount) },
          })
      }
    })

/** Reports of the bank about payments and money. Each is one transaction, as taking a message is. */
function createWords({ db, clock }: Parts, insertEntry: InsertEntry, notify: Notify) {
  return {
    instructions: () =>
      db.rows<Instruction & { status: string }>(sql`
        select partner_id, id, amount, status from rails.iso_instructions order by id`),
    /** The instruction is in a file at the bank. `missing`: the bank is silent about it. */
    file: async ({ partnerId, id }: Instruction, missing = false) =>
      void (await db.run(sql`
        update rails.iso_instructions set status = 'Filed', missing_since = ${missing ? clock.now() : null}
        where partner_id = ${partnerId} and id = ${id}`)),
    /** pain.002: paid, and not booked. */
    paid: (instruction: Instruction) =>
      db.transaction(async (tx) => {
        const { partnerId, id: subjectId, amount } = instruction
        const row = await tx.row<{ status: string; settledAt: Date | null }>(sql`
          select status, settled_at from rails.iso_instructions where partner_id = ${partnerId} and id = ${subjectId} for update`)
        // It has said so by a booking.
        if (row?.status === 'Returned' || (row?.settledAt ?? null) !== null) return
        await setInstruction(clock, tx, instruction, 'Settled', null)
        await notify(tx, { partnerId, subjectId, report: { kind: 'payout.settled', money: money(amount) } })
      }),
    booked: createBooked({ db, clock }, insertEntry, notify),
    returned: (instruction: Instruction, statementId?: string) =>
      db.transaction(async (tx) => {
        const { partnerId, id: subjectId, amount } = instruction
        const of = { subjectId, subjectPartnerId: partnerId, ...(statementId === undefined ? {} : { statementId }) }
        const entryId = await insertEntry(tx, { amount, kind: 'return', ...of })
        await tx.run(sql`
          update rails.iso_instructions set status = 'Returned', updated_at = ${clock.now()}
          where partner_id = ${partnerId} and id = ${subjectId}`)
        const facts = {
          errorKey: 'BankRejection',
          details: 'Account closed.',
          reasonCode: 'AC04',
          money: money(amount),
        }
        await notify(tx, { partnerId, subjectId, entryId, report: { kind: 'payout.returned', ...facts } })
      }),
    /** An entry as it is, with a report if it has one. The entry is the subject of the report. */
    entry: (entry: NewEntry, report?: Report) =>
      db.transaction(async (tx) => {
        const id = await insertEntry(tx, entry)
        if (report === undefined) return id
        const amount = entry.amount < 0n ? -entry.amount : entry.amount
        const given = { ...report, account: isoIban, money: money(amount) }
        await notify(tx, { partnerId: operatorPartnerId, subjectId: id, entryId: id, report: given })
        return id
      }),
    report: (subjectId: string, report: Report) =>
      db.transaction((tx) => notify(tx, { partnerId: operatorPartnerId, subjectId, report })),
  }
}

export type NewStatement = {
  readonly on: string
  readonly opening: Minor | null
  readonly closing: Minor | null
  readonly sequence?: bigint
  /** Listed amount; default: the amount that it moves. */
  readonly credits?: Minor
  readonly debits?: Minor
  readonly state?: 'Taking' | 'Taken'
  /** Entries that other messages have reported before. */
  readonly has?: 'all' | readonly string[]
  readonly id?: string
}

function createStatements({ db, clock }: Parts) {
  return {
    /** A camt.053. Answers its id. */
    statement: (given: NewStatement) =>
      db.transaction(async (tx) => {
        const { on, opening, closing, sequence = null, state = 'Taken', has = [], id = newId() } = given
        const moved = (closing ?? 0n) - (opening ?? 0n)
        const { credits = moved > 0n ? moved : 0n, debits = moved < 0n ? -moved : 0n } = given
        const now = clock.now()
        const messageId = newId()
        await tx.run(sql`
          insert into rails.iso_messages (id, connector, kind, message_id, file_name, sha256, bytes, state, entries,
            received_at, taken_at)
          values (${messageId}, ${isoConnector}, 'camt.053', ${messageId}, ${messageId}, ${messageId}, 1, ${state}, 0, ${now}, ${now})`)
        await tx.run(sql`
          insert into rails.iso_statements (id, connector, message_id, kind, account, currency, statement_id, sequence,
            opening, closing, opening_on, closing_on, entries, credits, debits, created_at)
          values (${id}, ${isoConnector}, ${messageId}, 'camt.053', ${isoIban}, ${currency}, ${`STMT ${on}`}, ${sequence},
            ${opening}, ${closing}, ${on}::date, ${on}::date, 0, ${credits}, ${debits}, ${now})`)
        const all = has === 'all'
        await tx.run(sql`
          update rails.iso_entries set statement_id = ${id}
          where partner_id = ${operatorPartnerId} and connector = ${isoConnector} and statement_id is null
            and (${all} or id = any(${all ? [] : [...has]}::uuid[]))`)
        return id
      }),
  }
}

export type IsoBooksBank = ReturnType<typeof createIsoBooksBank>
