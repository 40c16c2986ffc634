/**
 * The equation of reconciliation holds in every snapshot while payments, bank reports, bookings, statements and
 * decisions run.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, test } from 'node:test'
import { Refusal } from '../../kernel/api/index.ts'
import { useSnapshot, sql } from '../../postgres/index.ts'
import { addPartner, createTestService, pay, type TestPartner } from '../../../../test/support/composition.ts'
import { createIsoBooksBank, isoAccount, isoConnector } from '../../../../test/support/iso-books.ts'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import { operatorPartnerId } from '../index.ts'
import { processBankNotifications, sendDueReturns, submitDuePayouts } from '../../banks/settlement/index.ts'

const movements = 200

const service = await createTestService({ chooseConnector: () => isoConnector, bankAccounts: [isoAccount] })
const bank = createIsoBooksBank(service)
after(() => service.close())
const settlement = { ...service.settlement, connectors: [bank.connector] }

const debtor = {
  account: 'FR7630006000011234567890189',
  bic: 'AGRIFRPP',
  name: 'Ada',
  countryCode: 'FR',
  address: null,
}
const credited = { kind: 'credit.booked', debtor, remittance: null, endToEndId: null } as const
const debited = { kind: 'debit.booked', why: 'bank_fee', details: 'Charges.' } as const

async function unexplained(): Promise<string | undefined> {
  let left: string | undefined
  await service.db.transaction(async (tx) => {
    await useSnapshot(tx)
    for await (const page of service.reconciliation.report(tx, { account: isoAccount.account }))
      left ??= page.find(({ record }) => record === 'account')?.['unexplained']
  })
  return left
}

async function repeatUntil(isDone: () => boolean, work: () => Promise<unknown>): Promise<void> {
  while (!isDone()) await work()
}

const pick = <T>(list: readonly T[]): T | undefined => (list.length === 0 ? undefined : list[randomInt(list.length)])
const amount = () => BigInt(1 + randomInt(1000))

async function decide(): Promise<void> {
  const open = pick(await service.cases.list(undefined, 100))
  if (open === undefined || open.booked === null || open.returningSince !== null) return
  const key = { partnerId: open.partnerId, id: open.id }
  const action = pick(open.booked > 0n ? (['write-off', 'reverse', 'return'] as const) : (['fees', 'reverse'] as const))
  const proposed = { ...key, action: action ?? 'fees', staff: 'ada', note: 'Random.' }
  await service.db.transaction((tx) => service.decisions.propose(tx, proposed))
  await service.db.transaction((tx) => service.decisions.approve(tx, { ...key, staff: 'grace' }))
}

type Instruction = Awaited<ReturnType<typeof bank.instructions>>[number]

function createMoves(partners: readonly TestPartner[]): readonly (() => Promise<unknown>)[] {
  const paid = new Set<string>()
  const booked = new Set<string>()
  const returned = new Set<string>()
  /** Calls `say` for some payments, with each payment at most once. */
  const some = async (seen: Set<string>, unless: (id: string) => boolean, max: number, say: Say) => {
    const open = (await bank.instructions()).filter(({ id }) => !seen.has(id) && !unless(id)).slice(0, max)
    for (const { id } of open) seen.add(id)
    if (open.length > 0) await say(open)
  }
  type Say = (instructions: readonly Instruction[]) => Promise<unknown>
  const payOne = () => {
    const partner = pick(partners)
    return partner === undefined
      ? Promise.resolve()
      : pay(service, partner, `${1 + randomInt(50)}.${10 + randomInt(89)}`)
  }
  const each = (say: (one: Instruction) => Promise<unknown>) => (list: readonly Instruction[]) =>
    Promise.all(list.map((one) => say(one)))
  return [
    payOne,
    payOne,
    payOne,
    () => some(paid, (id) => booked.has(id) || returned.has(id), 1, each(bank.paid)),
    () => some(booked, () => false, 1 + randomInt(3), bank.booked),
    () => some(returned, () => randomInt(2) === 0, 1, each(bank.returned)),
    () => bank.entry({ amount: amount(), kind: 'unknown' }, credited),
    () => bank.entry({ amount: -amount(), kind: 'fee' }, debited),
    decide,
  ]
}

/** Creates statements. A movement that is written meanwhile is on the next one. */
function createStatements(): () => Promise<void> {
  let balance = 0n
  let number = 0n
  return async () => {
    const rows = await service.db.rows<{ id: string; amount: bigint }>(
      sql`select id, amount from rails.iso_entries where statement_id is null`,
    )
    const opening = balance
    balance += rows.reduce((sum, row) => sum + row.amount, 0n)
    number += 1n
    const has = rows.map(({ id }) => id)
    await bank.statement({ on: '2026-01-01', sequence: number, opening, closing: balance, has })
  }
}

test(`every snapshot adds up while ${movements} movements run`, async () => {
  const partners = await Promise.all([1, 2, 3].map(() => addPartner(service, 10_000_000n)))
  const moves = createMoves(partners)
  const statement = createStatements()
  let moving = true
  let refused = 0
  const isDone = () => !moving
  const looks: (string | undefined)[] = []
  const work = Promise.all([
    repeatUntil(isDone, () => submitDuePayouts(settlement)),
    repeatUntil(isDone, () => processBankNotifications(settlement)),
    repeatUntil(isDone, () => sendDueReturns(settlement, bank.connector)),
    repeatUntil(isDone, async () => looks.push(await unexplained())),
  ])
  const halves = await Promise.allSettled(
    [0, 1].map(async (half) => {
      for (let at = half; at < movements; at += 2) {
        // Only one half creates statements, so that their balances are consecutive.
        if (half === 0 && at % 20 === 0) await statement()
        // The other half may have decided about the same case.
        await pick(moves)?.().catch((error: unknown) => {
          if (!(error instanceof Refusal)) throw error
          refused += 1
        })
      }
    }),
  )
  moving = false
  await work
  for (const half of halves) if (half.status === 'rejected') throw half.reason
  assert.ok(looks.length > 10, `there were ${looks.length} looks`)
  assert.ok(refused < movements / 10, `${refused} movements were refused`)
  assert.deepEqual([...new Set(looks)], ['0.00'])
  assert.equal(await unexplained(), '0.00')
  for (const id of [operatorPartnerId, ...partners.map(({ partnerId }) => partnerId)]) await checkLedger(service.db, id)
})
