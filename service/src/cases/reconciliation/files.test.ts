/** Reconciliation over real files of a bank: what each message brings into the equation, and what takes it out again. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { accountReportXml, type ReportPart } from '../../iso20022/index.ts'
import { minuteMs } from '../../kernel/index.ts'
import { readAtOneMoment, sql } from '../../postgres/index.ts'
import {
  addPartner,
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
import type { Line } from './index.ts'

const account = { connector: connectorId, account: ownIban, currency: 'EUR' } as const
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

let files = 0
async function take(text: string): Promise<void> {
  files += 1
  await folders.put(`${files}.xml`, text)
  await bank.work()
}

async function found(): Promise<Readonly<Record<string, string>>> {
  const lines: Line[] = []
  await service.db.transaction(async (tx) => {
    await readAtOneMoment(tx)
    for await (const page of service.reconciliation.report(tx, { account: ownIban })) lines.push(...page)
  })
  const parts = lines.filter(({ record, amount }) => record === 'difference' && amount !== '0.00')
  const left = lines.find(({ record }) => record === 'account')?.['unexplained'] ?? ''
  return { ...Object.fromEntries(parts.map(({ kind, amount }) => [kind, amount])), left }
}
const kinds = async () => (await service.cases.list(undefined, 100)).map(({ kind }) => kind).toSorted()

test('a day of credits, charges and a payment: notified, then on the statement', async () => {
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

test('a statement that comes late fills its gap, and its case is gone', async () => {
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

type Day = { readonly number: number; readonly opening: bigint; readonly closing: bigint; readonly messageId?: string }
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

test('a correction of a statement closes its gap, its case and the one of the correction', async () => {
  const entry = entryOf(100n)
  await take(dayOf({ number: 1, opening: 0n, closing: 100n }, [entry]))
  await take(dayOf({ number: 2, opening: 150n, closing: 200n }, [entryOf(50n)]))
  assert.deepEqual(await found(), { statement_gap: '-0.50', left: '0.00' })
  assert.deepEqual(await statementCases(), ['statement_gap'])
  await take(dayOf({ number: 1, opening: 0n, closing: 150n }, [entry, entryOf(50n)]))
  assert.deepEqual(await found(), { left: '0.00' })
  await look()
  assert.deepEqual(await statementCases(), [])
  // A later start looks at all of them again.
  bank = createIncomingBank(service, folders)
  await look()
  assert.deepEqual(await statementCases(), [])
})

test('balances by value date stop neither the statement nor the next ones, and are named until they are explained', async () => {
  const onDay = (day: number, amount: bigint, valued: number) =>
    entryOf(amount, { bookingDate: `2026-01-0${day}`, valueDate: `2026-01-0${valued}` })
  await take(dayOf({ number: 1, opening: 0n, closing: 100n }, [onDay(1, 100n, 1), onDay(1, 70n, 2), onDay(1, -9n, 3)]))
  assert.deepEqual(await found(), { valued_later: '0.61', left: '0.00' })
  await take(dayOf({ number: 2, opening: 100n, closing: 175n }, [onDay(2, 5n, 2), onDay(2, 11n, 3)]))
  assert.deepEqual(await found(), { valued_later: '0.02', left: '0.00' })
  await take(dayOf({ number: 3, opening: 175n, closing: 177n }, []))
  assert.deepEqual(await found(), { left: '0.00' })
  assert.deepEqual(await statementCases(), [])
  // What no value date explains is quarantined, as before.
  await take(dayOf({ number: 4, opening: 177n, closing: 180n }, [onDay(4, 5n, 5)]))
  assert.deepEqual(await statementCases(), ['sum_differs'])
})

test('two days by value date in one message', async () => {
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
    test(`a ${where} in pages under one id is taken whole; each page has ${balances} balances`, async () => {
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
      // The first page came again with other references: only that is a case.
      assert.deepEqual(
        (await kinds()).filter((kind) => !kind.startsWith('unknown')),
        ['message_differs'],
      )
    })

test('a page that does not come is a gap', async () => {
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

test('a statement whose balances do not fit its entries is named, and counted as the bank states it', async () => {
  await take(reportXml([entryOf(100n)], { kind: 'camt.053', sequence: 1, opening: 0n, closing: 105n }))
  const parts = await found()
  assert.equal(parts['left'], '0.00')
  assert.ok((await kinds()).includes('sum_differs'), JSON.stringify(parts))
})
