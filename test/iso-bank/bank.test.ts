/** The test bank: accepted, booked and reported payments, in and out of order, and its state after being killed. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test, type TestContext } from 'node:test'
import { type IsoBank, startIsoBank } from '../../examples/iso-bank/bank.ts'
import type { Order, Settings } from '../../examples/iso-bank/model.ts'
import { createManualClock } from '../support/clock.ts'
import { pluck } from '../support/pluck.ts'
import { creditorIban, debtorIban, pain001, putFile, recall, type WantedPayment } from './company.ts'

const answered = { answerMs: 0, bookMs: 1000, laterMs: 1000 } satisfies Partial<Settings>

function open(context: TestContext, orders: readonly Order[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'iso-bank-'))
  const clock = createManualClock(new Date('2026-11-23T09:00:00Z'))
  let bank = startIsoBank({ folder, clock })
  context.after(() => {
    bank.close()
    rmSync(folder, { recursive: true })
  })
  const settle = () => {
    for (let step = 0; step < 20; step += 1) {
      while (bank.step() > 0);
      clock.advance(500)
    }
  }
  bank.order({ order: 'settings', settings: answered })
  for (const order of orders) bank.order(order)
  const texts = (kind: string) =>
    readdirSync(bank.fromBank)
      .filter((name) => name.startsWith(kind))
      .toSorted()
      .map((name) => readFileSync(join(bank.fromBank, name), 'utf8'))
  return {
    bank: () => bank,
    clock,
    settle,
    texts,
    pay: (wanted: readonly WantedPayment[], messageId = 'M1') => {
      putFile(bank, `${messageId}.xml`, pain001(messageId, wanted))
      settle()
    },
    restart: () => {
      bank.close()
      bank = startIsoBank({ folder, clock })
    },
  }
}

/** Payments with the ids 1, 2 and so on. */
const ofAmounts = (...amounts: readonly bigint[]): readonly WantedPayment[] =>
  amounts.map((amount, index) => ({ id: String(index + 1), amount }))
/** The statuses of payments, in the order of their ids. */
const statuses = (bank: IsoBank) => {
  const { payments } = bank.book()
  return pluck(
    payments.toSorted((one, other) => Number(one.endToEndId.slice(2)) - Number(other.endToEndId.slice(2))),
    'status',
  )
}
const spent = (bank: IsoBank) => {
  const [account] = bank.book().accounts
  return (account?.opening ?? 0n) - (account?.balance ?? 0n)
}
const count = (text: string | undefined, part: string) => (text ?? '').split(part).length - 1

suite('a payment', () => {
  test('appears with its ultimate debtor in the records of the bank and in the report', (context) => {
    const { bank, pay, texts } = open(context)
    pay([{ id: '1', amount: 12_50n, payer: { name: 'Ada Lovelace', iban: creditorIban } }])
    const [payment] = bank().book().payments
    assert.deepEqual(payment?.payer, { name: 'Ada Lovelace', id: creditorIban, country: null })
    assert.match(texts('camt.054')[0] ?? '', /<DbtrAcct>.*<UltmtDbtr><Pty><Nm>Ada Lovelace<.*<Cdtr>/)
  })

  test('is answered, booked and reported, and is on the next statement', (context) => {
    const { bank, pay, texts, settle } = open(context)
    pay(ofAmounts(12_50n))
    assert.deepEqual(statuses(bank()), ['executed'])
    assert.match(texts('pain.002')[0] ?? '', /<GrpSts>ACCP<.*<TxSts>ACSP</)
    assert.match(texts('camt.054')[0] ?? '', /<EndToEndId>E-1<.*<Amt Ccy="EUR">12.50</)
    bank().order({ order: 'statement' })
    settle()
    assert.match(
      texts('camt.053').find((text) => text.includes(debtorIban)) ?? '',
      /OPBD.*100000000000\.00.*CLBD.*99999999987\.50/,
    )
    const { statements } = bank().book()
    const listed = statements.map(({ currency, sequence, entries }) => `${currency} ${sequence}: ${entries}`)
    assert.deepEqual(listed, ['EUR 1: 1', 'GBP 1: 0', 'USD 1: 0'])
  })

  test('has the same outcome by its amount as at the sandbox bank', (context) => {
    const { bank, pay } = open(context)
    pay(ofAmounts(...Array.from({ length: 11 }, (_none, index) => 4001_01n + BigInt(index))))
    assert.equal(
      statuses(bank()).join(' '),
      'rejected refused refused refused returned executed lost executed executed lost executed',
    )
    // The returned payment is back, the short one is 1.00 less; delayed, short, contradicted and the last one are booked.
    assert.equal(spent(bank()), 4001_06n + 4001_08n - 100n + 4001_09n + 4001_11n)
  })

  test('is refused with a wrong account number, without money, and in a message whose sum is wrong', (context) => {
    const { bank, pay, texts, settle } = open(context)
    pay([
      { id: '1', amount: 1n, iban: 'NL92ABNA0417164300' },
      { id: '2', amount: 10n ** 13n + 1n },
      { id: '3', amount: 1n },
    ])
    assert.deepEqual(statuses(bank()), ['refused', 'refused', 'executed'])
    putFile(bank(), 'sum.xml', pain001('M2', [{ id: '4', amount: 5n }], { controlSum: '0.06' }))
    putFile(bank(), 'torn.xml', pain001('M3', [{ id: '5', amount: 5n }]).slice(0, 300))
    putFile(bank(), '.hidden.tmp', pain001('M4', [{ id: '6', amount: 5n }]))
    settle()
    assert.equal(spent(bank()), 1n)
    const codes = texts('pain.002').flatMap((text) => /<GrpSts>RJCT<.*<Cd>(\w+)</.exec(text)?.[1] ?? [])
    assert.deepEqual(codes.toSorted(), ['AM10', 'FF01'])
    assert.deepEqual(readdirSync(bank().toBank), ['.hidden.tmp'])
  })

  test('sent twice is executed once, and the bank records the repetition', (context) => {
    const { bank, pay } = open(context)
    for (const messageId of ['M1', 'M1', 'M2']) pay(ofAmounts(5n), messageId)
    assert.equal(spent(bank()), 5n)
    assert.deepEqual(bank().book().duplicates, ['message M1', 'instruction I-1'])
    assert.equal(bank().book().payments[0]?.timesReceived, 3)
  })

  test('is recalled: given back if it was executed, else cancelled', (context) => {
    const { bank, pay, texts, settle } = open(context, [
      { order: 'payment', match: { amount: 7n }, treatment: { do: 'hold' } },
    ])
    pay(ofAmounts(5n, 7n))
    for (const id of ['1', '2', '3']) putFile(bank(), `r${id}.xml`, recall(`R${id}`, id))
    settle()
    assert.deepEqual(statuses(bank()), ['returned', 'rejected'])
    assert.equal(spent(bank()), 0n)
    const answers = texts('camt.029').map((text) => /<TxCxlSts>(\w+)/.exec(text)?.[1])
    assert.deepEqual(answers.toSorted(), ['ACCR', 'ACCR', 'RJCR'])
  })
})

suite('an order', () => {
  test('sets the outcome of matching payments, a given number of times', (context) => {
    const { bank, pay, texts } = open(context, [
      { order: 'payment', match: { endToEndId: 'E-1' }, treatment: { do: 'double' } },
      { order: 'payment', match: { amount: 20n }, times: 1, treatment: { do: 'falsify', endToEndId: 'E-X' } },
      { order: 'payment', match: { remittance: 'Invoice 4' }, treatment: { do: 'execute silently' } },
    ])
    pay(ofAmounts(10n, 20n, 20n, 30n))
    assert.equal(spent(bank()), 10n + 10n + 20n + 20n + 30n)
    const told = texts('camt.054').join('')
    assert.deepEqual(
      ['E-1', 'E-2', 'E-X', 'E-3', 'E-4'].map((id) => count(told, `<EndToEndId>${id}<`)),
      [2, 0, 1, 1, 0],
    )
    const oddities = bank()
      .book()
      .oddities.map(({ kind, subject }) => `${kind} ${subject}`)
    assert.deepEqual(oddities, ['double E-1', 'falsify E-2', 'execute silently E-4'])
  })

  test('books a credit, its reversal, fees and batches, in both versions', (context) => {
    for (const version of ['current', 'older'] as const) {
      const { bank, texts, settle } = open(context, [{ order: 'settings', settings: { version } }])
      const debtor = { name: 'Ada & Co', iban: 'DE89370400440532013000' }
      const iban = 'LT121000011101001000'
      const { ref } = bank().order({ order: 'credit', iban, amount: 100n, currency: 'EUR', debtor, charge: 1n })
      bank().order({ order: 'reverse', credit: ref ?? '' })
      bank().order({ order: 'fee', currency: 'EUR', amount: 7n })
      bank().order({ order: 'debit', currency: 'EUR', amount: 3n })
      const credits = [4n, 5n].map((amount) => ({ iban: debtorIban, amount, debtor }))
      bank().order({ order: 'batch credit', currency: 'EUR', details: 'with the statement', credits })
      settle()
      assert.equal(spent(bank()), 1n)
      const [told] = texts('camt.054')
      assert.deepEqual([count(told, '<Ntry>'), count(told, '<TxDtls>'), count(told, '<RvslInd>true')], [5, 3, 1])
      assert.match(
        told ?? '',
        version === 'current' ? /camt\.054\.001\.08.*<Sts><Cd>BOOK/ : /camt\.054\.001\.02.*<Sts>BOOK/,
      )
      bank().order({ order: 'statement' })
      settle()
      const statement = texts('camt.053').find((text) => text.includes(debtorIban))
      assert.equal(count(statement, '<TxDtls>'), 5)
    }
  })

  test('corrupts files, and sends lost files again', (context) => {
    const { bank, texts, settle } = open(context)
    const faults = ['twice', 'same id', 'cut', 'garbage', 'wrong balance', 'omit'] as const
    for (const fault of faults) {
      for (let account = 0; account < 3; account += 1) bank().order({ order: 'file', kind: 'camt.053', fault })
      bank().order({ order: 'statement' })
      settle()
    }
    const idsOf = () => texts('camt.053').map((text) => /<Stmt><Id>([^<]+)<.*<\/Document>/.exec(text)?.[1])
    assert.equal(idsOf().length, 3 * (2 + 2 + 1 + 2 + 1))
    assert.equal(idsOf().filter((id) => id === '053-EUR-3').length, 0, 'it was cut')
    bank().order({ order: 'send again' })
    bank().order({ order: 'release' })
    settle()
    const ids = idsOf()
    for (const [id, times] of Object.entries({ '053-EUR-3': 1, '053-EUR-5': 2, '053-EUR-6': 1 }))
      assert.equal(ids.filter((each) => each === id).length, times, id)
    assert.equal(bank().book().oddities.length, faults.length * 3)
  })

  test('shows half of a file before the complete file', (context) => {
    const { bank, texts } = open(context, [{ order: 'file', kind: 'camt.054', fault: 'half' }])
    bank().order({ order: 'fee', currency: 'EUR', amount: 7n })
    bank().step()
    assert.doesNotMatch(texts('camt.054')[0] ?? '</Document>', /<\/Document>/)
    bank().step()
    assert.match(texts('camt.054')[0] ?? '', /<\/Document>/)
  })
})

test('a killed bank continues where it stopped and ignores a truncated line', (context) => {
  const { bank, pay, restart, settle, texts } = open(context)
  putFile(bank(), 'M1.xml', pain001('M1', [{ id: '1', amount: 4001_05n }]))
  const journal = join(bank().toBank, '../state/journal.jsonl')
  for (let step = 0; step < 6; step += 1) {
    bank().step()
    writeFileSync(journal, '[{"t":"entry","entry":{"ref"', { flag: 'a' })
    restart()
  }
  settle()
  assert.deepEqual(statuses(bank()), ['returned'])
  pay([{ id: '2', amount: 5n }], 'M2')
  assert.equal(spent(bank()), 5n)
  assert.deepEqual(bank().book().duplicates, [])
  assert.equal(texts('camt.054').length, 3)
})
