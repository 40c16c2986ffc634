/**
 * Reconciliation with the rows of a file-based bank: each kind of difference appears, is explained to the cent, ages
 * and disappears; and the pages of the report.
 */
import assert from 'node:assert/strict'
import { after, afterEach, beforeEach, suite, test } from 'node:test'
import { operatorPartnerId } from '../index.ts'
import { dayMs, hourMs, minuteMs, newId } from '../../kernel/index.ts'
import { useSnapshot } from '../../postgres/index.ts'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { createIsoBooksBank, isoAccount, type IsoBooksBank, isoConnector } from '../../../../test/support/iso-books.ts'
import { processBankNotifications, sendDueReturns, submitDuePayouts } from '../../banks/settlement/index.ts'
import type { ReportLine } from './index.ts'
import {
  type BankFolders,
  connectorId,
  createBankFolders,
  createIncomingBank,
  entryOf,
  ownIban,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'

suite('differences', () => {
  let service: Service
  let bank: IsoBooksBank
  let partner: TestPartner
  const services: Service[] = []
  beforeEach(async () => {
    service = await createTestService({ chooseConnector: () => isoConnector, bankAccounts: [isoAccount] })
    services.push(service)
    bank = createIsoBooksBank(service)
    // The initial balance is on the settlement account of the sandbox bank.
    partner = await addPartner(service, 10_000_000n)
  })
  after(() => Promise.all(services.map((each) => each.close())))

  const settlement = () => ({ ...service.settlement, connectors: [bank.connector] })
  const apply = () => processBankNotifications(settlement())

  async function report(wanted: { readonly at?: Date } = {}): Promise<readonly ReportLine[]> {
    const lines: ReportLine[] = []
    await service.db.transaction(async (tx) => {
      await useSnapshot(tx)
      for await (const page of service.reconciliation.report(tx, wanted)) lines.push(...page)
    })
    return lines
  }

  /** Returns the parts of the difference of the account at the bank, and the unexplained amount as `left`. */
  async function found(): Promise<Readonly<Record<string, string>>> {
    const lines = (await report()).filter(({ account }) => account === isoAccount.account)
    const [head] = lines
    assert.equal(head?.['record'], 'account')
    const parts = lines
      // Two entries that cancel each other out are still listed with their count.
      .filter(({ record, amount }) => record === 'difference' && amount !== '0.00')
      .map(({ kind, amount }) => [kind, amount])
    return { ...Object.fromEntries(parts), left: head['unexplained'] ?? '' }
  }
  const suspended = async () =>
    (await report())
      .filter(({ record, account }) => record === 'suspense' && account === isoAccount.account)
      .map(({ kind, amount, count }) => [kind, amount, count])

  const look = async () => {
    service.clock.advance(minuteMs)
    await service.reconciliation.step()
  }

  const euros = { currency: 'EUR' } as const
  const debtor = {
    account: 'FR7630006000011234567890189',
    bic: 'AGRIFRPP',
    name: 'Ada Lovelace',
    countryCode: 'FR',
    address: null,
  }
  const credited = { kind: 'credit.booked', debtor, remittance: 'Invoice 17', endToEndId: 'E2E-17' } as const

  const openCases = () => service.cases.list(undefined, 100)
  async function resolveAll(action: 'fees' | 'reverse' | 'write-off' | 'return'): Promise<void> {
    for (const row of await openCases()) {
      const key = { partnerId: row.partnerId, id: row.id }
      const { db, decisions } = service
      await db.transaction((tx) => decisions.propose(tx, { ...key, action, staff: 'ada', note: 'As the bank says.' }))
      await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'grace' }))
    }
  }

  /** A payout that the connector has. */
  async function sent(amount = '10.00') {
    const before = new Set((await bank.instructions()).map(({ id }) => id))
    await pay(service, partner, amount)
    await submitDuePayouts(settlement())
    const instruction = (await bank.instructions()).find(({ id }) => !before.has(id))
    assert.ok(instruction)
    await bank.file(instruction)
    return instruction
  }

  test('bank and ledger agree without entries', async () => {
    assert.deepEqual(await found(), { left: '0.00' })
    await bank.statement({ on: '2026-01-01', opening: 500n, closing: 500n })
    assert.deepEqual(await found(), { left: '0.00' })
  })

  test('an entry that only the ledger has, and an entry that only the statement has, explain the difference', async () => {
    await bank.entry({ amount: 1234n, kind: 'credit' }, credited)
    assert.deepEqual(await found(), { left: '0.00' }, 'neither side has it')
    await apply()
    assert.deepEqual(await found(), { not_on_statement: '12.34', left: '0.00' })
    const statementId = await bank.statement({ on: '2026-01-01', opening: 500n, closing: 1834n, has: 'all' })
    await bank.entry({ amount: 100n, kind: 'credit', statementId }, credited)
    assert.deepEqual(await found(), { not_applied: '-1.00', left: '0.00' })
    service.clock.advance(hourMs)
    const item = (await report()).find(({ kind }) => kind === 'not_applied')
    assert.deepEqual([item?.['count'], item?.['age_seconds']], ['1', '3600'])
    const entry = (await report()).find(({ record }) => record === 'entry_new')
    assert.deepEqual([entry?.['amount'], entry?.['kind']], ['1.00', 'credit'])
    await apply()
    assert.deepEqual(await found(), { left: '0.00' })
    assert.deepEqual(await suspended(), [['unknown_payment', '13.34', '2']])
  })

  test('a payment that the bank has paid but not yet booked explains the difference', async () => {
    const instruction = await sent()
    await bank.paid(instruction)
    assert.deepEqual(await found(), { left: '0.00' }, 'the ledger does not have it yet')
    await apply()
    assert.deepEqual(await found(), { settled_not_booked: '-10.00', left: '0.00' })
    await bank.booked([instruction])
    assert.deepEqual(await found(), { not_on_statement: '-10.00', left: '0.00' })
    await bank.statement({ on: '2026-01-01', opening: 5000n, closing: 4000n, has: 'all' })
    assert.deepEqual(await found(), { left: '0.00' })
  })

  test("a booking reported before the bank's paid status explains the difference", async () => {
    const instruction = await sent()
    const statementId = await bank.statement({ on: '2026-01-01', opening: 5000n, closing: 4000n })
    await bank.booked([instruction], statementId)
    assert.deepEqual(await found(), { not_applied: '10.00', left: '0.00' })
    await apply()
    assert.deepEqual(await found(), { left: '0.00' })
  })

  test('a payment report and its booking that are both pending count exactly once', async () => {
    const instruction = await sent()
    await bank.paid(instruction)
    await bank.booked([instruction])
    assert.deepEqual(await found(), { left: '0.00' })
    await apply()
    assert.deepEqual(await found(), { not_on_statement: '-10.00', left: '0.00' })
  })

  test('a return booked before its payment explains the difference', async () => {
    for (const isPaid of [false, true]) {
      const instruction = await sent()
      if (isPaid) {
        await bank.paid(instruction)
        await apply()
      }
      await bank.returned(instruction)
      const before = isPaid ? { returned_not_booked: '-10.00', left: '0.00' } : { left: '0.00' }
      assert.deepEqual(await found(), before)
      await apply()
      assert.deepEqual(await found(), { not_on_statement: '10.00', returned_not_booked: '-10.00', left: '0.00' })
      await bank.booked([instruction])
      assert.deepEqual(await found(), { left: '0.00' }, 'the payment and its return are nothing together')
      await apply()
      assert.deepEqual(await found(), { left: '0.00' })
    }
  })

  test('the payments of one booking that the ledger has not applied yet explain the difference', async () => {
    const [one, other, third] = [await sent('10.00'), await sent('20.00'), await sent('30.00')]
    await bank.paid(one)
    await apply()
    const statementId = await bank.statement({ on: '2026-01-01', opening: 6000n, closing: 0n })
    await bank.booked([one, other, third], statementId)
    assert.deepEqual(await found(), { not_applied: '50.00', left: '0.00' })
    // One of the two reports is applied and acknowledged.
    const some = { ...bank.connector, notifications: () => bank.connector.notifications(1) }
    await processBankNotifications({ ...service.settlement, connectors: [some] })
    const left = await found()
    assert.equal(left['left'], '0.00')
    assert.ok(['20.00', '30.00'].includes(left['not_applied'] ?? ''), JSON.stringify(left))
    await apply()
    assert.deepEqual(await found(), { left: '0.00' })
  })

  test('a booked sum whose payments a later message will list explains the difference', async () => {
    const statementId = await bank.statement({ on: '2026-01-01', opening: 0n, closing: 900n })
    await bank.entry({ amount: 900n, kind: 'waiting', statementId })
    assert.deepEqual(await found(), { waiting: '-9.00', left: '0.00' })
  })

  test('money in suspense is listed until its case is resolved, and money returned outside the service until it is booked', async () => {
    await bank.entry({ amount: 700n, kind: 'unknown' }, credited)
    await bank.entry({ amount: -30n, kind: 'fee' }, { kind: 'debit.booked', why: 'bank_fee', details: 'Charges.' })
    await apply()
    await bank.statement({ on: '2026-01-01', opening: 0n, closing: 670n, has: 'all' })
    assert.deepEqual(await suspended(), [
      ['bank_fee', '-0.30', '1'],
      ['unknown_payment', '7.00', '1'],
    ])
    assert.deepEqual(await found(), { left: '0.00' })
    await resolveAll('fees')
    assert.deepEqual(await suspended(), [])
    assert.deepEqual(await found(), { left: '0.00' })
    await bank.entry({ amount: 500n, kind: 'unknown' }, credited)
    await apply()
    await resolveAll('reverse')
    assert.deepEqual(await found(), { not_on_statement: '5.00', reversed: '-5.00', left: '0.00' })
    // The bank books the returned money, which matches the case that was resolved by `reverse`.
    await bank.entry(
      { amount: -500n, kind: 'unknown' },
      { kind: 'debit.booked', why: 'unknown_debit', details: 'Back.' },
    )
    await apply()
    await resolveAll('reverse')
    assert.deepEqual(await found(), { left: '0.00' })
  })

  for (const action of ['write-off', 'reverse'] as const)
    test(`a case can be resolved (${action}) before the bank's report is acknowledged`, async () => {
      await bank.entry({ amount: 5_00n, kind: 'unknown' }, credited)
      const acknowledge = () => Promise.reject(new Error('the call was lost'))
      await processBankNotifications({ ...settlement(), connectors: [{ ...bank.connector, acknowledge }] }).catch(
        () => {},
      )
      assert.equal((await openCases()).length, 1)
      await resolveAll(action)
      assert.equal((await found()).left, '0.00')
      await apply()
      assert.equal((await found()).left, '0.00')
    })

  test('a missing statement is a gap until it arrives, and then its case is resolved automatically', async () => {
    await bank.statement({ on: '2026-01-01', opening: 0n, closing: 0n, sequence: 1n })
    await bank.statement({ on: '2026-01-03', opening: 400n, closing: 400n, sequence: 3n })
    await bank.report(newId(), {
      kind: 'oddity',
      what: 'statement_gap',
      details: `A statement of ${isoAccount.account} is missing.`,
    })
    await apply()
    assert.deepEqual(await found(), { statement_gap: '-4.00', left: '0.00' })
    await look()
    assert.deepEqual(
      (await openCases()).map(({ kind }) => kind),
      ['statement_gap'],
    )
    const statementId = await bank.statement({ on: '2026-01-02', opening: 0n, closing: 400n, sequence: 2n })
    await bank.entry({ amount: 400n, kind: 'unknown', statementId }, credited)
    await apply()
    assert.deepEqual(await found(), { left: '0.00' })
    await look()
    assert.deepEqual(
      (await openCases()).map(({ kind }) => kind),
      ['unknown_payment'],
    )
  })

  test('a statement whose balances differ from its entries, and a statement with entries that were not read, are listed', async () => {
    await bank.statement({ on: '2026-01-01', opening: 0n, closing: 105n, credits: 100n, debits: 0n })
    assert.deepEqual(await found(), { sum_differs: '-0.05', not_taken: '-1.00', left: '0.00' })
  })

  test('a repeated statement, and pages in another order, change nothing', async () => {
    const page = { on: '2026-01-01', sequence: 1n } as const
    const id = await bank.statement({ ...page, opening: 300n, closing: 900n })
    await bank.entry({ amount: 600n, kind: 'unknown', statementId: id }, credited)
    const first = await bank.statement({ ...page, opening: 0n, closing: 300n })
    await bank.entry({ amount: 300n, kind: 'unknown', statementId: first }, credited)
    await bank.statement({ ...page, opening: 0n, closing: 300n })
    await apply()
    assert.deepEqual(await found(), { left: '0.00' })
    const head = (await report()).find(({ account }) => account === isoAccount.account)
    assert.deepEqual([head?.['opening'], head?.['closing'], head?.['bank']], ['0.00', '9.00', '9.00'])
  })

  test('a statement that is still being written does not count', async () => {
    const statementId = await bank.statement({ on: '2026-01-01', opening: 0n, closing: 900n, state: 'Taking' })
    await bank.entry({ amount: 200n, kind: 'unknown', statementId }, credited)
    assert.deepEqual(await found(), { left: '0.00' })
    await apply()
    assert.deepEqual(await found(), { not_on_statement: '2.00', left: '0.00' })
  })

  test('the second run with an unexplained difference opens a case, which is resolved when the difference is gone', async () => {
    const money = { debit: `settlement.${isoConnector}` as const, ...euros, amount: 77n }
    await service.db.transaction((tx) => service.deposits.creditPartner(tx, partner.partnerId, money))
    assert.deepEqual(await found(), { left: '0.77' })
    await look()
    assert.deepEqual(await openCases(), [])
    await look()
    await look()
    const [opened, ...others] = await openCases()
    assert.deepEqual([opened?.kind, opened?.subject, others.length], ['unexplained', isoAccount.account, 0])
    const told = JSON.parse(opened?.report ?? '') as { readonly unexplained: string; readonly ledger: string }
    assert.deepEqual([told.unexplained, told.ledger], ['0.77', '0.77'])
    const statementId = await bank.statement({ on: '2026-01-01', opening: 0n, closing: 77n })
    await bank.entry({ amount: 77n, kind: 'credit', isApplied: true, statementId })
    await look()
    assert.deepEqual(await openCases(), [])
    const history = await service.decisions.history(service.db, operatorPartnerId, opened?.id ?? '')
    assert.deepEqual(
      history.map(({ kind, actor, note }) => [kind, actor, note]),
      [['gone', 'reconciliation', 'The difference is gone: bank and ledger agree.']],
    )
  })

  test('two processes that reconcile at the same time store one run and open one case', async () => {
    const money = { debit: `settlement.${isoConnector}` as const, ...euros, amount: 77n }
    await service.db.transaction((tx) => service.deposits.creditPartner(tx, partner.partnerId, money))
    for (let round = 0; round < 3; round += 1) {
      service.clock.advance(minuteMs)
      await Promise.all([service.reconciliation.step(), service.reconciliation.step()])
    }
    assert.equal((await openCases()).length, 1)
  })

  test('a case about a payment without an answer is resolved when the bank reports the payment', async () => {
    const instruction = await sent()
    await bank.file(instruction, true)
    await bank.report(instruction.id, { kind: 'oddity', what: 'payment_missing', details: 'No word.' })
    await apply()
    await look()
    assert.deepEqual(
      (await openCases()).map(({ kind }) => kind),
      ['payment_missing'],
    )
    const memo = (await report()).find(({ record }) => record === 'memo')
    assert.deepEqual([memo?.['kind'], memo?.['amount'], memo?.['count']], ['missing', '10.00', '1'])
    await bank.paid(instruction)
    await apply()
    await look()
    assert.deepEqual(await openCases(), [])
  })

  test('runs are stored as history: an item has the time when it first appeared, and a past day can be read', async () => {
    await bank.entry({ amount: 1234n, kind: 'credit' }, credited)
    await apply()
    await look()
    const firstSeen = service.clock.now()
    service.clock.advance(dayMs)
    await bank.entry({ amount: 1n, kind: 'credit' }, credited)
    await apply()
    await look()
    const item = (await report()).find(({ kind }) => kind === 'not_on_statement')
    assert.deepEqual([item?.['amount'], item?.['first_seen']], ['12.35', firstSeen.toISOString()])
    const then = (await report({ at: new Date(firstSeen.getTime() + hourMs) })).filter(
      ({ account }) => account === isoAccount.account,
    )
    assert.deepEqual(
      then.map(({ record, kind, amount }) => [record, kind, amount]),
      [
        ['account', undefined, undefined],
        ['difference', 'not_on_statement', '12.34'],
        ['suspense', 'unknown_payment', '12.34'],
      ],
    )
  })

  test('a return of an unknown credit is listed at each step until the bank has booked it', async () => {
    await bank.entry({ amount: 700n, kind: 'unknown' }, credited)
    await apply()
    await resolveAll('return')
    assert.deepEqual(await suspended(), [['unknown_payment', '7.00', '1']])
    assert.equal(await sendDueReturns(settlement(), bank.connector), 1)
    const [instruction] = await bank.instructions()
    assert.deepEqual([instruction?.amount, instruction?.partnerId], [700n, operatorPartnerId])
    assert.ok(instruction)
    await bank.paid(instruction)
    assert.deepEqual(await found(), { not_on_statement: '7.00', left: '0.00' })
    await apply()
    assert.deepEqual(await found(), { not_on_statement: '7.00', settled_not_booked: '-7.00', left: '0.00' })
    await bank.booked([instruction])
    await bank.statement({ on: '2026-01-01', opening: 0n, closing: 0n, has: 'all' })
    assert.deepEqual([await found(), await suspended(), await openCases()], [{ left: '0.00' }, [], []])
  })

  test('a debit that is matched with its payment counts as booked, and a later bank report changes nothing', async () => {
    const instruction = await sent()
    await bank.entry(
      { amount: -1000n, kind: 'unknown' },
      { kind: 'debit.booked', why: 'unknown_debit', details: 'A debit.' },
    )
    await apply()
    const [opened] = await openCases()
    assert.ok(opened)
    const [best] = await service.reconciliation.candidates(service.db, opened)
    assert.deepEqual([best?.candidate.id, best?.candidate.kind, best?.score], [instruction.id, 'payout', 50])
    const key = { partnerId: opened.partnerId, id: opened.id }
    const named = { toPartnerId: partner.partnerId, payoutId: instruction.id }
    const { db, decisions } = service
    await db.transaction((tx) =>
      decisions.propose(tx, { ...key, ...named, action: 'match', staff: 'ada', note: 'It is.' }),
    )
    await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'grace' }))
    assert.deepEqual(await found(), { not_on_statement: '-10.00', left: '0.00' })
    assert.deepEqual(
      (await bank.instructions()).map(({ status }) => status),
      ['Settled'],
    )
    await bank.statement({ on: '2026-01-01', opening: 5000n, closing: 4000n, has: 'all' })
    assert.deepEqual(await found(), { left: '0.00' })
  })
})

suite('pages', () => {
  const account = { connector: connectorId, account: ownIban, currency: 'EUR' } as const
  let service: Service
  let folders: BankFolders
  let bank: ReturnType<typeof createIncomingBank>
  beforeEach(async () => {
    service = await createTestService({ bankAccounts: [account] })
    folders = await createBankFolders()
    bank = createIncomingBank(service, folders)
  })
  afterEach(async () => {
    await service.close()
    await folders.remove()
  })

  const look = async () => {
    service.clock.advance(minuteMs)
    await service.reconciliation.step()
  }

  /** Imports the statement of a day with one credit, and reconciles. */
  async function takeDay(number: number) {
    const on = `2026-01-0${number}`
    const opening = BigInt(number - 1) * 100n
    const entry = entryOf(100n, { bookingDate: on, valueDate: on })
    const statement = { statementId: `S${number}`, sequence: number, on, opening, closing: opening + 100n }
    await folders.put(`${number}.xml`, reportXml([entry], { kind: 'camt.053', ...statement }))
    await bank.work()
    await look()
  }

  const report = async (rowsMax?: number): Promise<readonly ReportLine[]> => {
    const lines: ReportLine[] = []
    for await (const some of service.reconciliation.report(service.db, { ...account, rowsMax })) lines.push(...some)
    return lines
  }
  const count = (lines: readonly ReportLine[], wanted: string) => lines.filter(({ record }) => record === wanted).length

  test('the first run of each statement is listed newest first, in pages, with the parts of its difference', async () => {
    await look()
    for (const number of [1, 2, 3]) {
      await takeDay(number)
      // Another look at the same statement stores another result, but not another day.
      await folders.put(`n${number}.xml`, reportXml([entryOf(BigInt(number))]))
      await bank.work()
      await look()
    }
    const { days } = service.reconciliation
    const first = await days(service.db, account, undefined, 2)
    assert.deepEqual(
      first.map((line) => [
        line['statement_on'],
        line['closing'],
        line['difference'],
        line['explained'],
        line['unexplained'],
      ]),
      [
        ['2026-01-03', '3.00', '0.03', '0.03', '0.00'],
        ['2026-01-02', '2.00', '0.01', '0.01', '0.00'],
      ],
    )
    const second = await days(service.db, account, new Date(first[1]?.['at'] ?? ''), 2)
    assert.deepEqual(
      second.map((line) => [line['statement_on'], line['difference']]),
      [['2026-01-01', '0.00']],
    )
    assert.deepEqual(await days(service.db, { ...account, account: 'other' }, undefined, 9), [])
    const stored: ReportLine[] = []
    const at = new Date(first[0]?.['at'] ?? '')
    for await (const some of service.reconciliation.report(service.db, { ...account, at })) stored.push(...some)
    assert.deepEqual(
      stored.filter(({ record }) => record === 'difference').map(({ kind, amount }) => [kind, amount]),
      [['not_on_statement', '0.03']],
    )
  })

  test('a limited report has the same sums, the last statements, and the oldest rows of each kind', async () => {
    for (const number of [1, 2, 3]) await takeDay(number)
    for (const number of [1, 2, 3]) await folders.put(`n${number}.xml`, reportXml([entryOf(BigInt(number))]))
    await bank.work()
    const [all, some] = [await report(), await report(2)]
    assert.deepEqual(some[0], all[0])
    for (const record of ['statement', 'entry_not_on_statement', 'case']) {
      assert.ok(count(all, record) >= 3, record)
      assert.equal(count(some, record), 2, record)
    }
    const days = some.filter(({ record }) => record === 'statement').map((line) => line['statement_on'])
    assert.deepEqual(days, ['2026-01-02', '2026-01-03'])
  })

  test('the accounts are the configured accounts, the reconciled accounts, and suspense', async () => {
    const names = async () => (await service.reconciliation.accounts(service.db)).map((one) => one.account)
    assert.deepEqual(await names(), [ownIban])
    await takeDay(1)
    await look()
    assert.deepEqual((await names()).toSorted(), [ownIban, 'suspense'].toSorted())
  })
})
