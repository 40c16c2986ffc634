/**
 * Files that users of other software have reported, from the file to booked rows, cases and reconciliation: as the simulator
 * writes them, and as SAMPLES_DIR has them.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import type { BankEntry, EntryDetail } from '../../service/src/iso20022/index.ts'
import { hourMs, minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { addPartner, balanceOf, createTestService, pay, type Service } from '../support/composition.ts'
import {
  type BankFolders,
  casesOf,
  connectorId,
  createBankFolders,
  createIncomingBank,
  entryOf,
  euro,
  markFiled,
  ownIban,
  reconciliationLines,
  type ReportOptions,
  reportXml,
} from '../support/iso-incoming.ts'
import { pluck } from '../support/pluck.ts'
import { samplesFolder } from '../support/samples.ts'

const account = { connector: connectorId, account: ownIban, currency: 'EUR' } as const
const float = 10_000_00n
let service: Service
let folders: BankFolders
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => connectorId, bankAccounts: [account] })
  folders = await createBankFolders()
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

/** Creates a partner with payouts at the bank, and the references for files of the bank. */
async function atBank(amounts: readonly string[]) {
  const partner = await addPartner(service, float)
  const { partnerId } = partner
  const { ibans } = await service.accounts.create(partnerId, partner.customer.id)
  const payee = { iban: 'NL91ABNA0417164300', currency: 'EUR', name: 'Payee Two', customerId: partner.customer.id }
  const { id: beneficiaryId } = await service.beneficiaries.create(partnerId, payee)
  const bank = createIncomingBank(service, folders)
  for (const amount of amounts) await pay(service, partner, amount, { beneficiaryId })
  while ((await submitDuePayouts(bank.settlement)) > 0);
  await markFiled(service)
  const sent = await service.db.rows<{ endToEndId: string }>(
    sql`select end_to_end_id from rails.iso_instructions order by amount`,
  )
  let files = 0
  const take = async (...texts: readonly string[]) => {
    for (const text of texts) await folders.put(`${(files += 1)}.xml`, text)
    await bank.work()
  }
  const posted = async () => (await balanceOf(service, partnerId)).posted
  const [endToEndId = '', second = ''] = sent.map((one) => one.endToEndId)
  return { partner, partnerId, bank, take, posted, iban: ibans[0].iban, endToEndId, second }
}
type AtBank = Awaited<ReturnType<typeof atBank>>

const bookings = () =>
  service.db.rows<{ amount: bigint; kind: string; bookedOn: string }>(
    sql`select amount, kind, booked_on::text as booked_on from rails.iso_entries order by amount, kind`,
  )

type BookedKinds = readonly `${string} ${bigint}`[]
const kindsAndAmounts = (rows: Awaited<ReturnType<typeof bookings>>): BookedKinds =>
  rows.map(({ kind, amount }) => `${kind} ${amount}` as const)

async function reconciled(): Promise<Readonly<Record<string, string>>> {
  const lines = await reconciliationLines(service)
  const parts = lines.filter(({ record }) => record === 'difference')
  const [seen] = lines.filter(({ record }) => record === 'account')
  return {
    ...Object.fromEntries(parts.map(({ kind, amount }) => [kind, amount])),
    closing: seen?.['closing'] ?? '',
    unexplained: seen?.['unexplained'] ?? '',
  }
}

const creditTo = (iban: string, more: Partial<EntryDetail> = {}) => ({
  creditorAccount: { iban },
  debtor: { name: 'Mira Beispiel' },
  isCredit: true,
  ...more,
})
const text = (written: string, currency = 'EUR') => ({ currency, minor: null, text: written }) as const
const statement = (entries: readonly BankEntry[], more: ReportOptions = {}) =>
  reportXml(entries, { kind: 'camt.053', sequence: 1, ...more })

type Kind = {
  readonly payouts?: readonly string[]
  readonly ours: (at: AtBank) => readonly string[]
  readonly samples: readonly string[]
  /** Lists money moved by the customer and the payouts, and each booking. */
  readonly moved: bigint
  readonly booked: BookedKinds
  readonly closing: string
  readonly on?: string
}

const balancesOf = (xml: string) => /<Bal>.*<\/Bal>/s.exec(xml)?.[0] ?? ''
/** Balances of two days; the first day begins with the balance of its previous day. */
function ofBoth([opening, middle, closing]: readonly [bigint, bigint, bigint]): string {
  const [before, last] = [
    statement([], { opening, closing: middle, on: '2026-01-02' }),
    statement([], { opening: middle, closing, on: '2026-01-03' }),
  ]
  return `${balancesOf(before).replace('OPBD', 'PRCD').replace('2026-01-02', '2026-01-01')}${balancesOf(last)}`
}

const ofTwoDays = (isTurned: boolean): Kind => ({
  ours: ({ iban }) => {
    const entries = [20_00n, 30_00n].map((minor) => entryOf(minor, { details: [creditTo(iban)] }))
    const first = statement([], { opening: 1000_00n, closing: 1020_00n, on: '2025-12-31' })
    const last = statement(entries, { opening: 1020_00n, closing: 1050_00n })
    const both = [balancesOf(first), balancesOf(last)]
    return [last.replace(balancesOf(last), (isTurned ? both.toReversed() : both).join(''))]
  },
  samples: [],
  moved: 50_00n,
  booked: ['credit 2000', 'credit 3000'],
  closing: '1050.00',
})

const kinds: Readonly<Record<string, Kind>> = {
  'a booking of zero with payments inside': {
    payouts: ['701.00'],
    ours: ({ iban, endToEndId }) => {
      const paid = { references: { endToEndId }, amount: euro(701_00n), isCredit: false }
      const details = [paid, creditTo(iban, { amount: euro(701_00n) })]
      return [statement([entryOf(0n, { details })], { opening: 1000_00n, closing: 1000_00n })]
    },
    samples: ['booking-of-zero'],
    moved: 0n,
    booked: ['payout -70100', 'credit 70100'],
    closing: '1000.00',
  },
  'balances of two days in a statement': { ...ofTwoDays(false), samples: ['two-days-in-a-statement'] },
  'balances of two days, the last one first': ofTwoDays(true),
  'pages of two days, of which the first moves as much as the last day': {
    ours: ({ iban }) => {
      const [before, first, second, third] = [5_00n, 20_00n, 30_00n, 20_00n].map((minor) =>
        entryOf(minor, { details: [creditTo(iban)] }),
      ) as [BankEntry, BankEntry, BankEntry, BankEntry]
      const page = (entries: readonly BankEntry[], number: string, isLast: boolean) => {
        const xml = statement(entries, { opening: 0n, closing: 0n, on: '2026-01-03', statementId: 'S2', sequence: 2 })
        return xml
          .replace(balancesOf(xml), ofBoth([1005_00n, 1055_00n, 1075_00n]))
          .replace(
            '<Id>S2</Id>',
            `<Id>S2</Id><StmtPgntn><PgNb>${number}</PgNb><LastPgInd>${isLast}</LastPgInd></StmtPgntn>`,
          )
      }
      return [
        statement([before], { opening: 1000_00n, closing: 1005_00n }),
        page([{ ...first, bookingDate: '2026-01-02' }], '1', false),
        page(
          [
            { ...second, bookingDate: '2026-01-02' },
            { ...third, bookingDate: '2026-01-03' },
          ],
          '2',
          true,
        ),
      ]
    },
    samples: [],
    moved: 75_00n,
    booked: ['credit 500', 'credit 2000', 'credit 2000', 'credit 3000'],
    closing: '1075.00',
  },
  'amounts that inform': {
    ours: ({ iban }) => {
      const informing: readonly Partial<EntryDetail>[] = [
        { charges: [{ amount: text('0.025'), isIncluded: false }] },
        { amounts: { instructed: { amount: text('110.00455') } }, charges: [{ amount: text('-1.50') }] },
        {},
      ]
      const entries = informing.map((more, index) =>
        entryOf(21_00n + 100n * BigInt(index), { details: [creditTo(iban, more)] }),
      )
      return [statement(entries, { opening: 1000_00n, closing: 1066_00n })]
    },
    samples: ['informative-amounts'],
    moved: 66_00n,
    booked: ['credit 2100', 'credit 2200', 'credit 2300'],
    closing: '1066.00',
  },
  'numbers that are times': {
    ours: ({ iban }) =>
      (
        [
          [1000_00n, 10_00n, 202611240639094570n, '2026-01-01'],
          [1010_00n, 5_00n, 202611250641120310n, '2026-01-02'],
        ] as const
      ).map(([opening, minor, sequence, on]) =>
        statement([entryOf(minor, { details: [creditTo(iban)] })], { opening, closing: opening + minor, on }).replace(
          '<ElctrncSeqNb>1<',
          `<ElctrncSeqNb>${sequence}<`,
        ),
      ),
    samples: ['number-is-a-time-1', 'number-is-a-time-2'],
    moved: 15_00n,
    booked: ['credit 500', 'credit 1000'],
    closing: '1015.00',
  },
  'payments of a batch by their instructed amounts': {
    payouts: ['31.00', '32.00'],
    ours: ({ endToEndId, second }) => {
      const details = [
        { references: { endToEndId }, amounts: { instructed: { amount: euro(31_00n) } } },
        { references: { endToEndId: second }, amounts: { instructed: { amount: euro(32_00n) } } },
      ]
      return [statement([entryOf(-63_00n, { details })], { opening: 1000_00n, closing: 937_00n })]
    },
    samples: ['batch-by-instructed-amounts'],
    moved: -63_00n,
    booked: ['payout -3200', 'payout -3100'],
    closing: '937.00',
  },
  'midnight in Berlin as a time in UTC': {
    ours: ({ iban }) => {
      const at = '2026-11-24T23:00:00.000Z'
      const entry = entryOf(41_00n, { details: [creditTo(iban)], bookingDate: at, valueDate: at })
      return [statement([entry], { opening: 1000_00n, closing: 1041_00n, on: '2026-11-25' })]
    },
    samples: ['booked-at-23-utc'],
    moved: 41_00n,
    booked: ['credit 4100'],
    closing: '1041.00',
    on: '2026-11-25',
  },
}

const folder = join(samplesFolder ?? '', 'reported')
const skip = samplesFolder === undefined || !existsSync(folder) ? 'SAMPLES_DIR does not name the reported files' : false
const sample = ({ iban, endToEndId, second }: AtBank, name: string): string =>
  readFileSync(join(folder, `${name}.xml`), 'utf8')
    .replaceAll('{{account}}', ownIban)
    .replaceAll('{{customerIban}}', iban)
    .replaceAll(/\{\{endToEndId1?\}\}/g, endToEndId)
    .replaceAll('{{endToEndId2}}', second)

for (const [title, { payouts = [], ours, samples, moved, booked, closing, on }] of Object.entries(kinds))
  suite(title, () => {
    const counts = async (filesOf: (at: AtBank) => readonly string[]) => {
      const at = await atBank(payouts)
      const files = filesOf(at)
      await at.take(...files)
      // Repeated: the same bytes, and the same entries in another message.
      await at.take(...files)
      const [last = ''] = files.slice(-1)
      await at.take(
        last
          .replaceAll('camt.053', 'camt.054')
          .replaceAll('BkToCstmrStmt', 'BkToCstmrDbtCdtNtfctn')
          .replaceAll(/(<\/?)Stmt>/g, '$1Ntfctn>')
          .replace(/<Bal>.*<\/Bal>/s, ''),
      )
      const rows = await bookings()
      assert.deepEqual(kindsAndAmounts(rows), booked)
      if (on !== undefined) assert.deepEqual(new Set(rows.map(({ bookedOn }) => bookedOn)), new Set([on]))
      assert.deepEqual(await casesOf(service), [])
      assert.equal(await at.posted(), float + moved)
      service.clock.advance(minuteMs)
      await service.reconciliation.step()
      assert.deepEqual(await reconciled(), { closing, unexplained: '0.00' })
    }
    test('as the simulator writes it', () => counts(ours))
    if (samples.length > 0)
      test('as it was reported', { skip }, () => counts((at) => samples.map((name) => sample(at, name))))
  })

test('times become bank days, with any offset and fraction', async () => {
  const at = await atBank([])
  const days: Readonly<Record<string, string>> = {
    '2026-11-24': '2026-11-24',
    '2026-11-24T23:59:59': '2026-11-24',
    '2026-11-24T24:00:00': '2026-11-24',
    '2026-11-24T24:00:00+01:00': '2026-11-24',
    '2026-11-24T22:59:59.999999999999Z': '2026-11-24',
    '2026-11-24T23:00:00Z': '2026-11-25',
    '2026-11-25T00:30:00+02:00': '2026-11-24',
    '2026-06-30T22:00:00.000Z': '2026-07-01',
  }
  const entries = Object.keys(days).map((bookingDate, index) =>
    entryOf(BigInt(index + 1), { bookingDate, details: [creditTo(at.iban)] }),
  )
  await at.take(reportXml(entries))
  assert.deepEqual(pluck(await bookings(), 'bookedOn'), Object.values(days))
})

for (const [statementNumbers, cases] of [
  ['evidence', []],
  ['ignored', []],
  ['consecutive', ['statement_gap']],
] as const)
  test(`a skipped statement number with matching balances: ${statementNumbers}`, async () => {
    const bank = createIncomingBank(service, folders, { statementNumbers })
    const day = { opening: 10_00n, closing: 10_00n }
    await folders.put('1.xml', statement([], { ...day, sequence: 1 }))
    await folders.put('3.xml', statement([], { ...day, sequence: 3, on: '2026-01-03' }))
    await bank.work()
    const found = await casesOf(service)
    assert.deepEqual(pluck(found, 'kind'), cases)
    for (const { details } of found) assert.match(details, /1 statement is missing between 1 .* and 3 /)
  })

suite('only the unreadable entry is held', () => {
  type Three = [BankEntry, BankEntry, BankEntry]
  const credits = (iban: string) =>
    [21_00n, 22_00n, 23_00n].map((minor) => entryOf(minor, { details: [creditTo(iban)] })) as Three
  const broken = (entry: BankEntry): BankEntry => ({ ...entry, amount: text('22.001') })

  test('the balances prove its amount, reconciliation lists it, and two people have it credited exactly once', async () => {
    const at = await atBank([])
    const [first, second, third] = credits(at.iban)
    const day = { opening: 1000_00n, closing: 1066_00n }
    await at.take(statement([first, broken(second), third], day))
    assert.equal(await at.posted(), float + 44_00n)
    assert.deepEqual(await reconciled(), { waiting: '-22.00', closing: '1066.00', unexplained: '0.00' })
    const [told, ...others] = await casesOf(service)
    assert.deepEqual([told?.kind, told?.booked, others], ['entry_unclear', null, []])
    assert.match(told?.details ?? '', /An entry of 22\.00 EUR.*cannot be read: Amt is not in EUR.*22\.001 \(line \d+/)
    service.clock.advance(2 * hourMs)
    await at.bank.work()
    const open = (await service.cases.list(undefined, 100)).find(({ kind }) => kind === 'unknown_payment')
    assert.equal(open?.booked, 22_00n)
    // Another statement contains it too: still one case.
    await at.take(statement([first, broken(second), third], { ...day, messageId: 'AGAIN' }))
    assert.equal((await casesOf(service)).filter(({ kind }) => kind !== 'statement_overlap').length, 2)
    const key = { partnerId: open?.partnerId ?? '', id: open?.id ?? '' }
    const proposal = { action: 'match', staff: 'ada', note: 'asked the bank', toPartnerId: at.partnerId } as const
    await service.db.transaction((tx) => service.decisions.propose(tx, { ...key, ...proposal }))
    await service.db.transaction((tx) => service.decisions.approve(tx, { ...key, staff: 'grace' }))
    assert.equal(await at.posted(), float + 66_00n)
    await at.take(reportXml([second]), statement([first, second, third], { ...day, messageId: 'CORRECTED' }))
    assert.equal(await at.posted(), float + 66_00n)
    assert.equal((await reconciled())['unexplained'], '0.00')
    assert.equal((await bookings()).length, 3)
  })

  test('a message with the readable entry resolves it, in either order', async () => {
    const at = await atBank([])
    const [first, second, third] = credits(at.iban)
    await at.take(statement([first, broken(second)], { opening: 0n, closing: 43_00n }), reportXml([second]))
    assert.equal(await at.posted(), float + 43_00n)
    await at.take(
      reportXml([third]),
      statement(
        [broken(third)].map((one) => ({ ...one, amount: text('23.004') })),
        { opening: 43_00n, closing: 66_00n, on: '2026-01-02', sequence: 2 },
      ),
    )
    assert.equal(await at.posted(), float + 66_00n)
    assert.deepEqual(await reconciled(), { closing: '66.00', unexplained: '0.00' })
  })

  // Without it the entries match the balances of the second day alone, which are not the balances of the statement.
  for (const [what, amount, kind, told, difference] of [
    ['a neighbour of its amount', text('22.001'), 'entry_unclear', /An entry of 22\.00 EUR/, 'waiting'],
    ['any amount', text('n/a'), 'entry_unclear', /An entry of 22\.00 EUR/, 'waiting'],
    ['another currency', { currency: 'USD', minor: 22_00n }, 'foreign_currency', /is in USD/, 'sum_differs'],
  ] as const)
    test(`two days share the balances around both: ${what}`, async () => {
      const at = await atBank([])
      const [first, second, third] = credits(at.iban)
      const entries = [
        { ...second, amount, bookingDate: '2026-01-02' },
        { ...third, bookingDate: '2026-01-03' },
      ]
      const days = statement(entries, { opening: 43_00n, closing: 66_00n, on: '2026-01-03', sequence: 2 })
      const both = days.replace(balancesOf(days), ofBoth([21_00n, 43_00n, 66_00n]))
      await at.take(statement([first], { opening: 0n, closing: 21_00n }), both)
      assert.equal(await at.posted(), float + 44_00n)
      assert.deepEqual(await reconciled(), { [difference]: '-22.00', closing: '66.00', unexplained: '0.00' })
      const [only, ...others] = await casesOf(service)
      // No case reports a missing statement between the days.
      assert.deepEqual([only?.kind, others], [kind, []])
      assert.match(only?.details ?? '', told)
    })

  test('two unreadable entries of a statement are reported, and a corrected statement resolves them', async () => {
    const at = await atBank([])
    const [first, second, third] = credits(at.iban)
    const day = { opening: 0n, closing: 66_00n, statementId: 'S1' }
    const wrong = { ...third, amount: text('23.001') }
    await at.take(statement([first, broken(second), wrong], day))
    assert.equal(await at.posted(), float + 21_00n)
    assert.deepEqual(await reconciled(), { not_taken: '-45.00', closing: '66.00', unexplained: '0.00' })
    assert.deepEqual(pluck(await casesOf(service), 'kind'), ['entry_unclear', 'entry_unclear'])
    await at.take(statement([first, second, third], day))
    assert.equal(await at.posted(), float + 66_00n)
    assert.deepEqual(await reconciled(), { closing: '66.00', unexplained: '0.00' })
  })

  test('a statement that contradicts its balances is quarantined', async () => {
    const at = await atBank([])
    const [first, second] = credits(at.iban)
    await at.take(statement([first, broken(second)], { opening: 0n, closing: 44_00n }))
    assert.equal(await at.posted(), float)
    assert.deepEqual(pluck(await casesOf(service), 'kind'), ['sum_differs'])
  })

  test('a booking of zero whose payments do not add up to it opens a case', async () => {
    const at = await atBank([])
    const details = [creditTo(at.iban, { amount: euro(5_00n) }), { amount: euro(4_00n), isCredit: false }]
    await at.take(statement([entryOf(0n, { details })], { opening: 0n, closing: 0n }))
    assert.equal(await at.posted(), float)
    assert.deepEqual(pluck(await casesOf(service), 'kind'), ['entry_unclear'])
  })
})

suite('charges are included if the sums then match', () => {
  const charge = (minor: bigint, isIncluded?: boolean) => ({
    amount: euro(minor),
    ...(isIncluded === undefined ? {} : { isIncluded }),
  })
  const bothPaid = ({ endToEndId, second }: AtBank, more: Partial<EntryDetail> = {}) => [
    { references: { endToEndId }, amount: euro(31_00n), ...more },
    { references: { endToEndId: second }, amount: euro(32_00n), ...more },
  ]
  const levels: Readonly<Record<string, readonly [entry: Partial<BankEntry>, detail: Partial<EntryDetail>]>> = {
    'of the entry': [{ charges: [charge(50n, true)] }, {}],
    'that are called not included': [{ charges: [charge(50n, false)] }, {}],
    'as a total': [{ chargesTotal: euro(50n) }, {}],
    'of each payment': [{}, { charges: [charge(25n)] }],
    'as totals of the payments': [{}, { chargesTotal: euro(25n) }],
    'at both levels, which repeat each other': [{ charges: [charge(50n)] }, { charges: [charge(25n)] }],
    'at both levels, which add up': [{ charges: [charge(30n)] }, { charges: [charge(10n)] }],
    'with a sign': [{ charges: [{ amount: text('-0.50') }] }, {}],
  }
  for (const [title, [ofEntry, ofDetail]] of Object.entries(levels))
    test(title, async () => {
      const at = await atBank(['31.00', '32.00'])
      const details = bothPaid(at, ofDetail)
      await at.take(statement([entryOf(-63_50n, { details, ...ofEntry })], { opening: 100_00n, closing: 36_50n }))
      assert.deepEqual(kindsAndAmounts(await bookings()), ['payout -3200', 'payout -3100', 'fee -50'])
      const [fee, ...others] = await casesOf(service)
      assert.deepEqual([fee?.kind, fee?.booked, others], ['bank_fee', -50n, []])
      assert.deepEqual(await reconciled(), { closing: '36.50', unexplained: '0.00' })
    })
  for (const [sum, minor] of [
    [-63_50n, 49n],
    [-62_50n, 50n],
  ] as const)
    test(`a charge of ${minor} beside a booking of ${sum} matches no sum: it opens a case, and nothing is split`, async () => {
      const at = await atBank(['31.00', '32.00'])
      const details = bothPaid(at)
      const charges = [charge(minor)]
      await at.take(statement([entryOf(sum, { details, charges })], { opening: 100_00n, closing: 100_00n + sum }))
      assert.deepEqual(kindsAndAmounts(await bookings()), [`waiting ${sum}`])
      assert.deepEqual(pluck(await casesOf(service), 'kind'), ['entry_unclear'])
    })
})
