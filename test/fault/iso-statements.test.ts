/**
 * Statements in the forms of many banks, against the payments from which they were made: each payment is booked once, each cent is explained, and no
 * statement is missed that is there. `npm run test:faults -- statements` makes 40 runs; MODEL_SEED repeats one.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { amountText, hourMs, minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { addPartner, balanceOf, createTestService, pay } from '../support/composition.ts'
import { drawing } from '../support/drawing.ts'
import { scaled } from '../support/faults.ts'
import {
  casesOf,
  connectorId,
  createBankFolders,
  createIncomingBank,
  markFiled,
  ownIban,
  reconciliationLines,
} from '../support/iso-incoming.ts'
import { makeStatements, type PaidPayout } from '../support/statements.ts'

const account = { connector: connectorId, account: ownIban, currency: 'EUR' } as const
const float = 1_000_000_00n
const payoutsOfRun = 40
const statementsOfRun = 30

async function run(t: TestContext, seed: number): Promise<void> {
  const service = await createTestService({ chooseConnector: () => connectorId, bankAccounts: [account] })
  const folders = await createBankFolders()
  try {
    const partner = await addPartner(service, float)
    const ibans: string[] = []
    for (let index = 0; index < 4; index += 1)
      ibans.push((await service.accounts.create(partner.partnerId, partner.customer.id)).ibans[0].iban)
    const bank = createIncomingBank(service, folders)
    for (let index = 0; index < payoutsOfRun; index += 1) await pay(service, partner, `${20 + index}.${10 + index}`)
    while ((await submitDuePayouts(bank.settlement)) > 0);
    await markFiled(service)
    const payouts = await service.db.rows<PaidPayout>(
      sql`select end_to_end_id, amount as minor from rails.iso_instructions order by amount`,
    )
    assert.equal(payouts.length, payoutsOfRun)
    const { oracle, steps, moved } = makeStatements({ seed, statements: statementsOfRun, ibans, payouts })
    let files = 0
    for (const step of steps) {
      for (const text of step.files) await folders.put(`${String((files += 1)).padStart(5, '0')}.xml`, text)
      await bank.work()
    }
    // What no message names goes to suspense.
    service.clock.advance(2 * hourMs)
    await bank.work()
    const rows = await service.db.rows<{
      kind: string
      amount: bigint
      endToEnd: string | null
      isListed: boolean
    }>(sql`
      select kind, amount, refs::json->>'endToEnd' as end_to_end, statement_id is not null as is_listed from rails.iso_entries`)
    const told = `MODEL_SEED=${seed}`
    const credits = rows
      .filter(({ kind, endToEnd }) => kind === 'credit' && endToEnd !== null)
      .map(({ endToEnd, amount }) => [endToEnd, amount])
    assert.deepEqual(new Map(credits as [string, bigint][]), oracle.credits, told)
    assert.equal(credits.length, oracle.credits.size, `${told}: a credit stands twice`)
    const paid = rows.filter(({ kind }) => kind === 'payout').map(({ endToEnd }) => endToEnd)
    assert.deepEqual(new Set(paid), oracle.paid, told)
    assert.equal(paid.length, oracle.paid.size, `${told}: a payout stands twice`)
    assert.equal(sum(rows.map(({ amount }) => amount)), moved, told)
    assert.ok(
      rows.every(({ isListed }) => isListed),
      told,
    )
    const ofPayouts = sum(payouts.filter(({ endToEndId }) => oracle.paid.has(endToEndId)).map(({ minor }) => minor))
    const { posted } = await balanceOf(service, partner.partnerId)
    assert.equal(posted, float - ofPayouts + sum([...oracle.credits.values()]), told)
    const cases = await casesOf(service)
    const money = (kind: string) => cases.filter((one) => one.kind === kind).map(({ booked }) => booked ?? 0n)
    assert.deepEqual(ordered(money('bank_fee')), ordered(oracle.fees), told)
    assert.deepEqual(ordered(money('unknown_payment')), ordered(oracle.unread), told)
    const others = cases.filter(({ kind }) => !['bank_fee', 'unknown_payment', 'entry_unclear'].includes(kind))
    assert.deepEqual(others, [], told)
    service.clock.advance(minuteMs)
    await service.reconciliation.step()
    const lines = await reconciliationLines(service)
    const [seen] = lines.filter(({ record }) => record === 'account')
    const text = amountText(moved, 'EUR')
    assert.deepEqual([seen?.['unexplained'], seen?.['closing'], seen?.['bank']], ['0.00', text, text], told)
    assert.deepEqual(
      lines.filter(({ record }) => record === 'difference'),
      [],
      told,
    )
    t.diagnostic(
      `${told}: ${files} files, ${credits.length} credits, ${paid.length} payouts, ${oracle.fees.length} charges, ${oracle.unread.length} not read`,
    )
  } finally {
    await service.close()
    await folders.remove()
  }
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n)
const ordered = (list: readonly bigint[]) => list.toSorted((a, b) => Number(a - b))
test('each payment is booked once, each cent is explained, and no statement is missed', async (t) => {
  const { seed, numRuns } = drawing(t, scaled(3, 40))
  for (let index = 0; index < numRuns; index += 1) await run(t, seed + index)
})
