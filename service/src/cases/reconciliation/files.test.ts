/**
 * Reconciliation with real bank files: the differences that each message causes and resolves, and corrected statements.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { accountReportXml, type ReportPart } from '../../iso20022/index.ts'
import { minuteMs, present } from '../../kernel/index.ts'
import { useSnapshot, sql } from '../../postgres/index.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  connectorId,
  createBankFolders,
  createIncomingBank,
  entryOf,
  markFiled,
  ownIban,
  partsOf,
  reportXml,
  statusXml,
} from '../../../../test/support/iso-incoming.ts'
import { submitDuePayouts } from '../../banks/settlement/index.ts'
import type { ReportLine } from './index.ts'
import { operatorPartnerId } from '../index.ts'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'

const account = { connector: connectorId, account: ownIban, currency: 'EUR' } as const

let files = 0

suite('messages', () => {
  let service: Service
  let partner: TestPartner
  let folders: BankFolders
  let bank: ReturnType<typeof createIncomingBank>
  beforeEach(async () => {
    service = await createTestService({ chooseConnector: () => connectorId, bankAccounts: [account] })
    folders = await createBankFolders()
    bank = createIncomingBank(service, folders)
    partner = await addPartner(service, 10_000_000n)
  })
  afterEach(async () => {
    await service.close()
    await folders.remove()
  })
  async function take(text: string): Promise<void> {
    files += 1
    await folders.put(`${files}.xml`, text)
    await bank.work()
  }

  async function found(): Promise<Readonly<Record<string, string>>> {
    const lines: ReportLine[] = []
    await service.db.transaction(async (tx) => {
      await useSnapshot(tx)
      for await (const page of service.reconciliation.report(tx, { account: ownIban })) lines.push(...page)
    })
    const parts = lines.filter(({ record, amount }) => record === 'difference' && amount !== '0.00')
    const left = lines.find(({ record }) => record === 'account')?.['unexplained'] ?? ''
    return { ...Object.fromEntries(parts.map(({ kind, amount }) => [kind, amount])), left }
  }
  const kinds = async () => (await service.cases.list(undefined, 100)).map(({ kind }) => kind).toSorted()

  test('a credit and a payment that are notified before the statement count once, and the statement adds the fee', async () => {
    const credit = entryOf(50_000n, { details: [{ references: { endToEndId: 'E1' }, debtor: { name: 'Ada' } }] })
    const fee = entryOf(-250n, { codes: { domain: 'ACMT', family: 'MDOP', subFamily: 'CHRG' } })
    await take(reportXml([credit]))
    assert.deepEqual(await found(), { not_on_statement: '500.00', left: '0.00' })
    await pay(service, partner, '100.00')
    await submitDuePayouts(bank.settlement)
    const { messageId } = await markFiled(service)
    await take(statusXml(messageId, { groupStatus: 'ACSC' }))
    assert.deepEqual(await found(), { not_on_statement: '500.00', settled_not_booked: '-100.00', left: '0.00' })
    const [sent] = await service.db.rows<{ endToEndId: string }>(sql`select end_to_end_id from rails.iso_instructions`)
    const booked = entryOf(-10_000n, { details: [{ references: { endToEndId: sent?.endToEndId ?? '' } }] })
    const all = [credit, fee, booked]
    await take(
      reportXml(all, { kind: 'camt.053', sequence: 1, opening: 1000n, closing: 1000n + 50_000n - 250n - 10_000n }),
    )
    assert.deepEqual(await found(), { left: '0.00' })
    assert.deepEqual(await kinds(), ['bank_fee', 'unknown_payment'])
  })

  test('a late statement fills its gap and closes its case', async () => {
    const day = (number: number, opening: bigint, closing: bigint) => {
      const on = `2026-01-0${number}`
      const entries = closing === opening ? [] : [entryOf(closing - opening, { bookingDate: on })]
      return reportXml(entries, { kind: 'camt.053', sequence: number, on, opening, closing })
    }
    await take(day(1, 0n, 100n))
    await take(day(3, 250n, 300n))
    assert.deepEqual(await found(), { statement_gap: '-1.50', left: '0.00' })
    assert.ok((await kinds()).includes('statement_gap'))
    await take(day(2, 100n, 250n))
    assert.deepEqual(await found(), { left: '0.00' })
    service.clock.advance(minuteMs)
    await service.reconciliation.step()
    assert.deepEqual(new Set(await kinds()), new Set(['unknown_payment']))
  })

  type Day = {
    readonly number: number
    readonly opening: bigint
    readonly closing: bigint
    readonly messageId?: string
  }
  const dayOf = ({ number, opening, closing, ...more }: Day, entries: readonly ReturnType<typeof entryOf>[]) =>
    reportXml(entries, {
      kind: 'camt.053',
      statementId: `S${number}`,
      sequence: number,
      on: `2026-01-0${number}`,
      opening,
      closing,
      ...more,
    })
  const look = async () => {
    service.clock.advance(minuteMs)
    await service.reconciliation.step()
    await bank.work()
    service.clock.advance(minuteMs)
    await service.reconciliation.step()
  }
  const statementCases = async () => (await kinds()).filter((kind) => /statement|sum/.test(kind))

  test('a corrected statement closes the gap and the cases of the gap and of the correction', async () => {
    const entry = entryOf(100n)
    await take(dayOf({ number: 1, opening: 0n, closing: 100n }, [entry]))
    await take(dayOf({ number: 2, opening: 150n, closing: 200n }, [entryOf(50n)]))
    assert.deepEqual(await found(), { statement_gap: '-0.50', left: '0.00' })
    assert.deepEqual(await statementCases(), ['statement_gap'])
    await take(dayOf({ number: 1, opening: 0n, closing: 150n }, [entry, entryOf(50n)]))
    assert.deepEqual(await found(), { left: '0.00' })
    await look()
    assert.deepEqual(await statementCases(), [])
    // After a restart, all statements are checked again.
    bank = createIncomingBank(service, folders)
    await look()
    assert.deepEqual(await statementCases(), [])
  })

  test('statements with balances by value date are processed, and the difference is listed until it is explained', async () => {
    const onDay = (day: number, amount: bigint, valued: number) =>
      entryOf(amount, { bookingDate: `2026-01-0${day}`, valueDate: `2026-01-0${valued}` })
    await take(
      dayOf({ number: 1, opening: 0n, closing: 100n }, [onDay(1, 100n, 1), onDay(1, 70n, 2), onDay(1, -9n, 3)]),
    )
    assert.deepEqual(await found(), { valued_later: '0.61', left: '0.00' })
    await take(dayOf({ number: 2, opening: 100n, closing: 175n }, [onDay(2, 5n, 2), onDay(2, 11n, 3)]))
    assert.deepEqual(await found(), { valued_later: '0.02', left: '0.00' })
    await take(dayOf({ number: 3, opening: 175n, closing: 177n }, []))
    assert.deepEqual(await found(), { left: '0.00' })
    assert.deepEqual(await statementCases(), [])
    // A statement with a difference that no value date explains is still quarantined.
    await take(dayOf({ number: 4, opening: 177n, closing: 180n }, [onDay(4, 5n, 5)]))
    assert.deepEqual(await statementCases(), ['sum_differs'])
  })

  test('a message can contain two days with balances by value date', async () => {
    const first = [
      ...partsOf([entryOf(70n, { valueDate: '2026-01-02' })], {
        kind: 'camt.053',
        sequence: 1,
        opening: 0n,
        closing: 0n,
      }),
    ]
    const second = partsOf([], { kind: 'camt.053', sequence: 2, opening: 0n, closing: 70n, on: '2026-01-02' })
    await take([...accountReportXml([...first, ...[...second].slice(1)])].join(''))
    assert.deepEqual(await found(), { left: '0.00' })
    assert.deepEqual(await statementCases(), [])
  })

  for (const where of ['message', 'statement', 'message and its statement'] as const)
    for (const balances of ['its own', 'those of the whole statement'] as const)
      test(`a ${where} in pages under one id is read completely, and each page has ${balances} balances`, async () => {
        const page = (number: number, opening: bigint, closing: bigint, amount: bigint) => {
          const whole = balances !== 'its own'
          const options = { kind: 'camt.053', messageId: 'M1', statementId: 'S1', sequence: 1 } as const
          const parts = partsOf([entryOf(amount)], {
            ...options,
            opening: whole ? 0n : opening,
            closing: whole ? 60n : closing,
          })
          const paged = { page: { number: String(number), isLast: number === 3 } }
          return [
            ...accountReportXml(
              Iterator.from(parts).map((part): ReportPart => {
                if (part.kind === 'head' && where !== 'statement') return { ...part, head: { ...part.head, ...paged } }
                return part.kind === 'statement' && where !== 'message'
                  ? { ...part, statement: { ...part.statement, ...paged } }
                  : part
              }),
            ),
          ].join('')
        }
        await take(page(2, 10n, 30n, 20n))
        await take(page(1, 0n, 10n, 10n))
        await take(page(1, 0n, 10n, 10n))
        await take(page(3, 30n, 60n, 30n))
        await take(dayOf({ number: 2, opening: 60n, closing: 61n }, [entryOf(1n)]))
        assert.deepEqual(await found(), { left: '0.00' })
        // The first page was repeated with other references. Only that opens a case.
        assert.deepEqual(
          (await kinds()).filter((kind) => !kind.startsWith('unknown')),
          ['message_differs'],
        )
      })

  test('a missing page is a gap', async () => {
    const page = (number: number, amount: bigint) =>
      [
        ...accountReportXml(
          Iterator.from(
            partsOf([entryOf(amount)], {
              kind: 'camt.053',
              messageId: 'M1',
              statementId: 'S1',
              sequence: 1,
              opening: 0n,
              closing: 60n,
            }),
          ).map((part): ReportPart =>
            part.kind === 'statement'
              ? { ...part, statement: { ...part.statement, page: { number: String(number), isLast: number === 3 } } }
              : part,
          ),
        ),
      ].join('')
    await take(page(1, 10n))
    await take(dayOf({ number: 2, opening: 60n, closing: 60n }, []))
    assert.deepEqual(await found(), { statement_gap: '-0.50', left: '0.00' })
    assert.deepEqual(await statementCases(), ['statement_gap'])
  })

  test('a statement whose balances do not match its entries is listed, and counts as the bank states it', async () => {
    await take(reportXml([entryOf(100n)], { kind: 'camt.053', sequence: 1, opening: 0n, closing: 105n }))
    const parts = await found()
    assert.equal(parts['left'], '0.00')
    assert.ok((await kinds()).includes('sum_differs'), JSON.stringify(parts))
  })
})

suite('corrected statements', () => {
  let service: Service
  let folders: BankFolders
  let bank: ReturnType<typeof createIncomingBank>
  let partner: TestPartner
  let partnerId: string
  let iban: string
  beforeEach(async () => {
    service = await createTestService({ chooseConnector: () => connectorId, bankAccounts: [account] })
    folders = await createBankFolders()
    bank = createIncomingBank(service, folders)
    partner = await addPartner(service)
    partnerId = partner.partnerId
    iban = (await service.accounts.create(partnerId, partner.customer.id)).ibans[0].iban
    await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  })
  afterEach(async () => {
    await service.close()
    await folders.remove()
  })

  type Entry = ReturnType<typeof entryOf>
  const on = '2026-01-08'
  const credit = (minor: bigint, endToEndId: string, bankReference: string): Entry => ({
    ...entryOf(minor, {
      bookingDate: on,
      details: [{ references: { endToEndId }, creditorAccount: { iban }, debtor: { name: 'Ada' } }],
    }),
    bankReference,
  })
  const sumOf = (entries: readonly Entry[]) =>
    entries.reduce((sum, { amount, isCredit }) => sum + (isCredit ? 1n : -1n) * (amount.minor ?? 0n), 0n)
  async function list(...entries: readonly Entry[]): Promise<void> {
    files += 1
    const statement = { kind: 'camt.053', statementId: 'S1', sequence: 1, on, opening: 0n } as const
    await folders.put(`${files}.xml`, reportXml(entries, { ...statement, closing: sumOf(entries) }))
    await bank.work()
  }
  async function look(): Promise<void> {
    for (let times = 0; times < 2; times += 1) {
      service.clock.advance(minuteMs)
      await service.reconciliation.step()
      await bank.work()
    }
  }
  async function unexplained(): Promise<string> {
    const lines: ReportLine[] = []
    await service.db.transaction(async (tx) => {
      await useSnapshot(tx)
      for await (const page of service.reconciliation.report(tx, { account: ownIban })) lines.push(...page)
    })
    return lines.find(({ record }) => record === 'account')?.['unexplained'] ?? ''
  }
  const posted = async () => (await balanceOf(service, partnerId)).posted
  const openKinds = async () =>
    (await service.cases.list(undefined, 100))
      .filter(({ resolution }) => resolution === null)
      .map(({ kind }) => kind)
      .toSorted()
  /** Cancels the entry of the case whose report contains a text. */
  const cancelled = async (words = '') => {
    const found = (await service.cases.list(undefined, 100)).find(
      ({ kind, report }) => kind === 'announced_missing' && report.includes(words),
    )
    assert.ok(found)
    return service.db.transaction((tx) => service.cancelEntry(tx, found.subject))
  }

  test('an entry that the correction omits opens a case, and two people reverse its money', async () => {
    const [kept, omitted] = [credit(7_00n, 'E1', 'R1'), credit(3_00n, 'E2', 'R2')]
    await list(kept, omitted)
    await look()
    assert.deepEqual([await posted(), await openKinds(), await unexplained()], [10_00n, [], '0.00'])
    await list(kept)
    await look()
    assert.deepEqual([await posted(), await openKinds(), await unexplained()], [10_00n, ['announced_missing'], '0.00'])
    const [told] = await service.cases.list(undefined, 100)
    assert.match(told?.report ?? '', /the last statement of that day omits it/)
    assert.deepEqual((({ amount, currency }) => [amount, currency])(await cancelled()), ['3.00', 'EUR'])
    await assert.rejects(cancelled(), { code: 'validation_failed' })
    await look()
    assert.deepEqual([await posted(), await unexplained()], [7_00n, '0.00'])
    assert.ok(!(await openKinds()).includes('unexplained'))
  })

  /** A payment that the bank has, and its debit on a statement. */
  async function paidDebit(amount: string, minor: bigint) {
    const { payout } = await pay(service, partner, amount)
    await submitDuePayouts(bank.settlement)
    await markFiled(service)
    const { id, endToEndId } = payout
    const statusOf = async () =>
      (await service.db.row<{ status: string }>(sql`select status from payouts.payouts where id = ${id}`))?.status
    const debit = entryOf(-minor, { bookingDate: on, details: [{ references: { endToEndId } }] })
    return { id, debit: { ...debit, bankReference: 'D1' }, statusOf }
  }

  test('a payment whose debit the correction omits opens a case, and two people return its money', async () => {
    const income = credit(7_00n, 'E1', 'R1')
    await list(income)
    const { debit, statusOf } = await paidDebit('3.00', 3_00n)
    await list(income, debit)
    await look()
    assert.deepEqual(
      [await statusOf(), await posted(), await openKinds(), await unexplained()],
      ['Completed', 4_00n, [], '0.00'],
    )
    await list(income)
    await look()
    assert.deepEqual([await posted(), await openKinds(), await unexplained()], [4_00n, ['announced_missing'], '0.00'])
    assert.deepEqual((({ amount, currency }) => [amount, currency])(await cancelled()), ['-3.00', 'EUR'])
    await assert.rejects(cancelled(), { code: 'validation_failed' })
    await look()
    assert.deepEqual([await statusOf(), await posted(), await unexplained()], ['Returned', 7_00n, '0.00'])
    assert.deepEqual(
      (await openKinds()).filter((kind) => kind !== 'announced_missing'),
      [],
    )
    // The bank lists the debit after all: the difference is explained, and its age raises an alert.
    await list(income, debit)
    await look()
    assert.deepEqual([await statusOf(), await posted(), await unexplained()], ['Returned', 7_00n, '0.00'])
  })

  const undo = (payoutId: string) => service.db.transaction((tx) => service.undoPayment(tx, { partnerId, payoutId }))
  type Decision = Pick<Parameters<Service['decisions']['propose']>[1], 'action' | 'toPartnerId' | 'payoutId'>
  /** Decides the open case with this money by two people. */
  async function decide(money: bigint, decision: Decision) {
    const found = (await service.cases.list(undefined, 100)).find(({ booked }) => booked === money)
    const { partnerId: ownerId, id } = present(found, 'the case')
    const key = { partnerId: ownerId, id }
    const { db, decisions } = service
    await db.transaction((tx) => decisions.propose(tx, { ...key, ...decision, staff: 'ada', note: 'Letter' }))
    await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'grace' }))
  }

  test('a debit that belongs to another payment is removed from its first match, and pays the other payment', async () => {
    const income = credit(10_00n, 'E1', 'R1')
    await list(income)
    const [first, second] = [await paidDebit('3.00', 3_00n), await paidDebit('3.00', 3_00n)]
    await assert.rejects(undo(first.id), { code: 'validation_failed' })
    await assert.rejects(undo(operatorPartnerId), { code: 'not_found' })
    await list(income, first.debit)
    await look()
    assert.deepEqual([await first.statusOf(), await posted()], ['Completed', 7_00n])
    const both = await Promise.allSettled([undo(first.id), undo(first.id)])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    assert.deepEqual([await first.statusOf(), await posted(), await unexplained()], ['Returned', 10_00n, '0.00'])
    const [opened, ...others] = await service.cases.list(undefined, 100)
    assert.deepEqual([opened?.kind, opened?.booked, others], ['unknown_debit', -3_00n, []])
    await decide(-3_00n, { action: 'match', toPartnerId: partnerId, payoutId: second.id })
    await look()
    assert.deepEqual([await second.statusOf(), await posted(), await unexplained()], ['Completed', 7_00n, '0.00'])
    assert.deepEqual(await openKinds(), [])
    await checkLedger(service.db, partnerId)
    // The bank pays the first one after all: no payment is pending for this money.
    await list(income, first.debit, { ...first.debit, bankReference: 'D2' })
    await look()
    assert.deepEqual(
      [await first.statusOf(), await openKinds(), await unexplained()],
      ['Returned', ['doubled'], '0.00'],
    )
  })

  /** Payments that the bank debits as one sum. */
  async function paidBatch(...amounts: readonly string[]) {
    const payouts: Awaited<ReturnType<typeof pay>>['payout'][] = []
    for (const amount of amounts) payouts.push((await pay(service, partner, amount)).payout)
    await submitDuePayouts(bank.settlement)
    const { batchId } = await markFiled(service)
    const sum = payouts.reduce((before, { amount }) => before + amount, 0n)
    const batches = [{ batchId, count: payouts.length }]
    const debit = { ...entryOf(-sum, { bookingDate: on, details: [], batches }), bankReference: 'B1' }
    const statuses = async () => {
      const ids = payouts.map(({ id }) => id)
      const rows = await service.db.rows<{ status: string }>(
        sql`select status from payouts.payouts where id = any(${ids}::uuid[]) order by id`,
      )
      return rows.map(({ status }) => status)
    }
    return { ids: payouts.map(({ id }) => id), debit, statuses }
  }

  test('a payment is removed from the debit of its batch, and all payments of a batch that the bank omits are returned', async () => {
    const income = credit(20_00n, 'E1', 'R1')
    await list(income)
    const batch = await paidBatch('3.00', '4.00', '5.00')
    const another = await paidDebit('4.00', 4_00n)
    await list(income, batch.debit)
    await look()
    assert.deepEqual([await batch.statuses(), await posted()], [['Completed', 'Completed', 'Completed'], 8_00n])
    const [, wrong = ''] = batch.ids
    const both = await Promise.allSettled([undo(wrong), undo(wrong)])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    assert.deepEqual([await batch.statuses(), await posted()], [['Completed', 'Returned', 'Completed'], 12_00n])
    assert.deepEqual([await openKinds(), await unexplained()], [['unknown_debit'], '0.00'])
    await decide(-4_00n, { action: 'match', toPartnerId: partnerId, payoutId: another.id })
    assert.deepEqual([await another.statusOf(), await posted(), await unexplained()], ['Completed', 8_00n, '0.00'])
    await list(income)
    await look()
    const all = await Promise.allSettled([cancelled(), cancelled()])
    assert.deepEqual(all.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    assert.equal(await unexplained(), '0.00', 'before settlement has taken the returns')
    await look()
    assert.deepEqual(
      [await batch.statuses(), await another.statusOf()],
      [['Returned', 'Returned', 'Returned'], 'Returned'],
    )
    assert.deepEqual([await posted(), await openKinds(), await unexplained()], [20_00n, ['announced_missing'], '0.00'])
    await checkLedger(service.db, partnerId)
  })

  test('a batch omitted while a part of it is in suspense leaves nothing in suspense', async () => {
    const income = credit(20_00n, 'E1', 'R1')
    await list(income)
    const batch = await paidBatch('3.00', '4.00')
    await list(income, batch.debit)
    await look()
    await undo(batch.ids[0] ?? '')
    await list(income)
    await look()
    await cancelled()
    assert.equal(await unexplained(), '0.00')
    await look()
    assert.deepEqual([await batch.statuses(), await posted()], [['Returned', 'Returned'], 20_00n])
    assert.deepEqual([await openKinds(), await unexplained()], [['announced_missing'], '0.00'])
  })

  test('an omitted debit without a payment leaves suspense, or the party that bore it gets the money back', async () => {
    const income = credit(20_00n, 'E1', 'R1')
    const debits = [2_00n, 1_00n].map((minor) => ({
      ...entryOf(-minor, { bookingDate: on, details: [{ references: { endToEndId: `F${minor}` } }] }),
      bankReference: `F${minor}`,
    }))
    await list(income, ...debits)
    await look()
    assert.deepEqual(await openKinds(), ['unknown_debit', 'unknown_debit'])
    await decide(-1_00n, { action: 'fees' })
    await list(income)
    await look()
    const waiting = await cancelled('of -2.00 EUR')
    assert.deepEqual([waiting.amount, waiting.openedCaseId, await unexplained()], ['-2.00', undefined, '0.00'])
    const borne = await cancelled('of -1.00 EUR')
    await assert.rejects(cancelled('of -1.00 EUR'), { code: 'validation_failed' })
    assert.deepEqual([borne.amount, typeof borne.openedCaseId, await unexplained()], ['-1.00', 'string', '0.00'])
    await look()
    assert.deepEqual(await openKinds(), ['announced_missing', 'announced_missing', 'unknown_payment'])
    await decide(1_00n, { action: 'fees' })
    assert.deepEqual([await posted(), await unexplained()], [20_00n, '0.00'])
  })

  test('undoing a debit that differs from its payment removes all of it, and an omitted debit leaves no difference', async () => {
    const income = credit(20_00n, 'E1', 'R1')
    await list(income)
    const [first, second] = [await paidDebit('3.00', 5_00n), await paidDebit('5.00', 1_00n)]
    await list(income, first.debit, { ...second.debit, bankReference: 'D2' })
    await look()
    assert.deepEqual([await posted(), await openKinds()], [12_00n, ['amount_differs', 'amount_differs']])
    const undone = await undo(first.id)
    assert.deepEqual([await first.statusOf(), await posted(), undone.amount], ['Returned', 15_00n, '5.00'])
    assert.deepEqual([await openKinds(), await unexplained()], [['amount_differs', 'unknown_debit'], '0.00'])
    await list(income, first.debit)
    await look()
    await cancelled('of -1.00 EUR')
    assert.equal(await unexplained(), '0.00')
    await look()
    assert.deepEqual([await second.statusOf(), await posted(), await unexplained()], ['Returned', 20_00n, '0.00'])
    assert.deepEqual(await openKinds(), ['announced_missing', 'unknown_debit'])
    await checkLedger(service.db, partnerId)
  })

  test('only one of two concurrent cancellations reverses the money', async () => {
    await list(credit(3_00n, 'E2', 'R2'))
    await list()
    await look()
    const both = await Promise.allSettled([cancelled(), cancelled()])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    await look()
    assert.deepEqual([await posted(), await unexplained()], [0n, '0.00'])
  })

  test('an entry with a corrected amount is the same booking, and its difference opens a case with the money', async () => {
    await list(credit(7_00n, 'E1', 'R1'))
    await look()
    await list(credit(9_00n, 'E1', 'R1'))
    await look()
    assert.deepEqual([await posted(), await unexplained()], [7_00n, '0.00'])
    const suspense = (await service.cases.list(undefined, 100)).filter(({ booked }) => booked !== null)
    assert.deepEqual(
      suspense.map(({ booked }) => booked),
      [2_00n],
    )
  })

  test('an entry with a corrected bank reference is the same booking, and an added entry is booked', async () => {
    await list(credit(7_00n, 'E1', 'R1'))
    await list(credit(7_00n, 'E1', 'R9'), credit(1_00n, 'E3', 'R3'))
    await look()
    assert.deepEqual([await posted(), await openKinds(), await unexplained()], [8_00n, [], '0.00'])
  })

  test('the same statement under another message id changes nothing', async () => {
    const entries = [credit(7_00n, 'E1', 'R1'), credit(3_00n, 'E2', 'R2')]
    await list(...entries)
    await look()
    await list(...entries)
    await look()
    assert.deepEqual([await posted(), await unexplained()], [10_00n, '0.00'])
    const listed = await service.db.rows(
      sql`select count(*) as entries, count(distinct statement_id) as statements from rails.iso_entries`,
    )
    assert.deepEqual(listed, [{ entries: 2n, statements: 1n }])
  })

  test('a correction of the correction lists the entry again and closes its case', async () => {
    const [kept, omitted] = [credit(7_00n, 'E1', 'R1'), credit(3_00n, 'E2', 'R2')]
    await list(kept, omitted)
    await list(kept)
    await look()
    assert.deepEqual(await openKinds(), ['announced_missing'])
    await list(kept, omitted)
    await look()
    assert.deepEqual([await posted(), await openKinds(), await unexplained()], [10_00n, [], '0.00'])
  })

  test('the sums agree if the process ends before it reads the correction', async () => {
    const [kept, omitted] = [credit(7_00n, 'E1', 'R1'), credit(3_00n, 'E2', 'R2')]
    await list(kept, omitted)
    await look()
    // The state after the first step of a correction: the row of the statement, whose message is being processed, and entries
    // without a statement.
    const id = '019b9f00-0000-7000-8000-000000000001'
    const { db } = service
    await db.run(sql`
    insert into rails.iso_messages (id, connector, kind, message_id, file_name, sha256, bytes, state, received_at, entries)
    select ${id}, connector, kind, 'M9', 'x.xml', sha256, bytes, 'Taking', received_at, 0 from rails.iso_messages limit 1`)
    await db.run(sql`
    insert into rails.iso_statements (id, connector, message_id, kind, account, currency, statement_id, sequence, opening, closing,
      opening_on, closing_on, entries, credits, debits, created_at)
    select ${id}, connector, ${id}, kind, account, currency, statement_id, sequence, opening, closing - 300, opening_on, closing_on, 1,
      credits - 300, debits, ${service.clock.now()} from rails.iso_statements`)
    await db.run(sql`update rails.iso_entries set statement_id = null`)
    assert.equal(await unexplained(), '0.00')
  })
})
