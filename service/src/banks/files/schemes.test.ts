/** The scheme, the bank and the forecast of a payment. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { defaultProfile } from '../../iso20022/index.ts'
import type { BankRules } from './deps.ts'
import { chooseScheme, isRefused } from './schemes.ts'
import { assignEntries, reassignEntries, type MatchPair } from './evidence.ts'
import type { ForecastPayment } from '../../rails/index.ts'
import { forecastPayment } from './banks.ts'

suite('schemes', () => {
  type Rules = Parameters<typeof chooseScheme>[1]
  const euroAccount = {
    iban: 'DE89370400440532013000',
    bic: 'COBADEFFXXX',
    currency: 'EUR',
    ownerName: 'Payer',
    ownerAddress: {},
  } as const
  const rules: Rules = {
    accounts: [euroAccount],
    preferred: 'Instant',
    instantMax: 100_000_00n,
    reach: { Instant: new Set(['COBADEFF']), CreditTransfer: new Set(['COBADEFF', 'DEUTDEFF']) },
    unknownBankReachable: true,
    profile: defaultProfile,
  }
  const payment = {
    amount: 10_00n,
    currency: 'EUR',
    creditorAccount: 'NL91ABNA0417164300',
    creditorBic: 'COBADEFF',
  } as const
  const choose = (change: Partial<Parameters<typeof chooseScheme>[0]> = {}, changed: Partial<BankRules> = {}) =>
    chooseScheme({ ...payment, ...change }, { ...rules, ...changed }, '2026-11-30')

  const asCreditTransfer = (reason: string | null) => ({ requested: 'Instant', applied: 'CreditTransfer', reason })

  test('a payment uses the preferred scheme if the bank and the amount allow it', () => {
    assert.deepEqual(choose(), { requested: 'Instant', applied: 'Instant', reason: null })
    assert.deepEqual(choose({ creditorBic: 'COBADEFFXXX' }), { requested: 'Instant', applied: 'Instant', reason: null })
    assert.deepEqual(choose({}, { preferred: 'CreditTransfer' }), {
      requested: 'CreditTransfer',
      applied: 'CreditTransfer',
      reason: null,
    })
  })

  test('a payment that cannot be instant states why it is a credit transfer', () => {
    const tooMuch = 'the amount is above the limit of instant payments'
    assert.deepEqual(choose({ amount: 100_000_00n }), { requested: 'Instant', applied: 'Instant', reason: null })
    assert.deepEqual(choose({ amount: 100_000_01n }), asCreditTransfer(tooMuch))
    const asInstant = { requested: 'Instant', applied: 'Instant', reason: null }
    assert.deepEqual(choose({ amount: 999_999_999_99n }, { instantMax: null }), asInstant)
    const notReached = 'the bank of the recipient does not accept instant payments'
    assert.deepEqual(choose({ creditorBic: 'DEUTDEFF500' }), asCreditTransfer(notReached))
    const notOffered = { ...rules.reach, Instant: 'none' } as const
    assert.deepEqual(choose({}, { reach: notOffered }), asCreditTransfer('instant payments are not offered'))
    assert.deepEqual(
      choose({ creditorBic: null }, { unknownBankReachable: false, reach: { ...rules.reach, CreditTransfer: 'all' } }),
      asCreditTransfer('the bank of the recipient is not known'),
    )
    const pounds = { ...euroAccount, currency: 'GBP' } as const
    assert.deepEqual(
      choose({ currency: 'GBP' }, { accounts: [pounds] }),
      asCreditTransfer('instant payments are in EUR'),
    )
  })

  test('a payment to a bank without credit transfers is instant', () => {
    assert.deepEqual(
      choose(
        { creditorBic: 'COBADEFF' },
        { preferred: 'CreditTransfer', reach: { ...rules.reach, CreditTransfer: 'none' } },
      ),
      { requested: 'CreditTransfer', applied: 'Instant', reason: 'credit transfers are not offered' },
    )
  })

  test('a payee bank without a BIC is reachable if the configuration states it', () => {
    assert.deepEqual(choose({ creditorBic: null }), { requested: 'Instant', applied: 'Instant', reason: null })
  })

  const refusals = {
    'an account number with wrong check digits': [
      { creditorAccount: 'NL92ABNA0417164300' },
      {},
      'InvalidAccountDetails',
      'AC01',
    ],
    'an account number that is not an IBAN': [{ creditorAccount: '12345678' }, {}, 'InvalidAccountDetails', 'AC01'],
    'a currency without an account': [{ currency: 'USD' }, {}, 'CurrencyNotAccepted', 'AM03'],
    'an invalid BIC': [{ creditorBic: 'nonsense' }, {}, 'InvalidAccountDetails', 'RC07'],
    'a bank that no scheme reaches': [{ creditorBic: 'BNPAFRPP' }, {}, 'BankRejection', 'CNOR'],
    'a bank without the required name': [
      { creditorBic: null },
      { unknownBankReachable: false },
      'InvalidAccountDetails',
      'RC07',
    ],
  } as const

  for (const [what, [change, changed, errorKey, reasonCode]] of Object.entries(refusals))
    test(`a payment is refused: ${what}`, () => {
      const refusal = choose(change, changed)
      assert.ok('errorKey' in refusal)
      assert.deepEqual([refusal.errorKey, refusal.reasonCode], [errorKey, reasonCode])
      assert.match(refusal.details, /^[A-Z].+\.$/)
    })

  test('euro outside SEPA is a credit transfer with a BIC, whatever the SEPA lists contain', () => {
    const creditorAccount = 'SA0380000000608010167519'
    const outside = 'the account is outside SEPA'
    assert.deepEqual(choose({ creditorAccount, creditorBic: 'RJHISARI' }), asCreditTransfer(outside))
    assert.deepEqual(
      choose({ creditorAccount, creditorBic: 'RJHISARI' }, { reach: { Instant: 'all', CreditTransfer: 'none' } }),
      asCreditTransfer(outside),
    )
    const unknown = choose({ creditorAccount, creditorBic: null }, { reach: { Instant: 'all', CreditTransfer: 'all' } })
    assert.ok(isRefused(unknown))
    assert.deepEqual([unknown.errorKey, unknown.reasonCode], ['InvalidAccountDetails', 'RC07'])
    const unregistered = choose({ creditorAccount: 'IR580540105180021273113007', creditorBic: null })
    assert.ok(isRefused(unregistered))
    assert.equal(unregistered.reasonCode, 'AC01')
  })
})

/** Reads pairs in the form `booking-entry verdict points`. */
const pairsOf = (...texts: readonly string[]): readonly MatchPair<string, string>[] =>
  texts
    .map((text) => {
      const [, booking = '', row = '', verdict = '', points = ''] = /^(\w+)-(\w+) (\w+) (\d+)$/.exec(text) ?? []
      return { booking, row, verdict: verdict as 'same', points: Number(points) }
    })
    .toSorted((a, b) => b.points - a.points)

function run(pairs: readonly MatchPair<string, string>[]) {
  const payments = new Map<string, string>()
  const open = new Set(pairs.map(({ row }) => row))
  assignEntries(pairs, { payments, open }, ['strong', 'same'])
  const doubts = reassignEntries(pairs, { payments, open })
  return { payments: Object.fromEntries([...payments].toSorted()), doubts: Object.fromEntries(doubts), open: [...open] }
}

test('a booking with two possible entries leaves one to the booking that only matches that entry', () => {
  assert.deepEqual(run(pairsOf('little-A same 90', 'little-B same 90', 'text-A same 55')), {
    payments: { little: 'B', text: 'A' },
    doubts: {},
    open: [],
  })
})

test('an uncertain match stays a possible match, while a certain match moves to its other entry', () => {
  assert.deepEqual(run(pairsOf('little-A same 90', 'little-B same 90', 'text-A maybe 45')), {
    payments: { little: 'B' },
    doubts: { text: 'A' },
    open: ['A'],
  })
})

test('a chain of bookings is reassigned so that each has an entry', () => {
  const pairs = pairsOf('p-A same 90', 'p-B same 80', 'q-B same 85', 'q-C same 60', 'r-A same 55')
  assert.deepEqual(run(pairs).payments, { p: 'B', q: 'C', r: 'A' })
})

test('an entry with only an uncertain match becomes the possible match of a booking without an entry', () => {
  const { payments, doubts } = run(pairsOf('p-A same 90', 'p-B maybe 20', 'q-A same 55'))
  assert.deepEqual([payments, doubts], [{ p: 'A' }, { q: 'B' }])
})

test('a booking matched by reference keeps its entry, and a booking without an entry is new', () => {
  const { payments, doubts } = run(pairsOf('p-A strong 200', 'p-B same 80', 'q-A same 55'))
  assert.deepEqual([payments, doubts], [{ p: 'A' }, {}])
  assert.deepEqual(run(pairsOf('p-A same 90', 'q-A same 55')).doubts, {})
})

test('for random pairs, as many bookings as possible get an entry, and each entry is used once', () => {
  const drawn = fc.array(fc.tuple(fc.nat(5), fc.nat(5), fc.nat(100)), { maxLength: 16 })
  fc.assert(
    fc.property(drawn, (list) => {
      const unique = [...new Map(list.map((one) => [`${one[0]}-${one[1]}`, one])).values()]
      const pairs = pairsOf(...unique.map(([booking, row, points]) => `b${booking}-r${row} same ${points}`))
      const { payments, doubts } = run(pairs)
      const rows = Object.values(payments)
      assert.equal(new Set(rows).size, rows.length)
      assert.deepEqual(doubts, {})
      assert.equal(rows.length, mostOf(pairs, new Set()))
    }),
  )
})

/** Finds the largest number of bookings that can get an entry, by trying everything. */
function mostOf(pairs: readonly MatchPair<string, string>[], taken: ReadonlySet<string>): number {
  const [booking] = pairs.map((pair) => pair.booking)
  if (booking === undefined) return 0
  const others = pairs.filter((pair) => pair.booking !== booking)
  const own = pairs.filter((pair) => pair.booking === booking && !taken.has(pair.row))
  return Math.max(mostOf(others, taken), ...own.map(({ row }) => 1 + mostOf(others, new Set([...taken, row]))))
}

suite('the forecast agrees with the connector', () => {
  const account = {
    iban: 'DE02120300000000202051',
    bic: 'BYLADEM1001',
    currency: 'EUR',
    ownerName: 'Partner Payments',
    ownerAddress: { country: 'DE', town: 'Berlin' },
  } as unknown as BankRules['accounts'][number]
  const rules: BankRules = {
    id: 'iso20022',
    accounts: [account],
    initiator: { name: 'Partner Payments' },
    preferred: 'CreditTransfer',
    instantMax: 100_000_00n,
    reach: { Instant: 'all', CreditTransfer: 'all' },
    unknownBankReachable: true,
    timeZone: 'Europe/Berlin',
    opensAt: 7 * 60,
    cutOffAt: 15 * 60,
    closedDays: new Set(['2026-04-07']),
    paymentsPerFileMax: 1000,
    fileWindowMs: 60_000,
    instantWindowMs: 1000,
    batchBooking: true,
    profile: defaultProfile,
    chargeBearer: 'SHAR',
    messageBytesMax: 1_000_000,
    unfinishedAfterMs: 60_000,
    missingAfterMs: 60_000,
    detailsWithinMs: 60_000,
    archive: '/nowhere',
    pollMs: 1000,
  }
  const payment: ForecastPayment = {
    amount: 10_00n,
    currency: 'EUR',
    creditorAccount: 'NL91ABNA0417164300',
    creditorBic: null,
  }
  const at = (time: string, more: Partial<BankRules> = {}) =>
    forecastPayment(payment, new Date(time), { ...rules, ...more })

  test('a credit transfer before the cut-off is sent the same day and arrives the next bank day', () => {
    assert.deepEqual(at('2026-04-01T10:00:00Z'), {
      possible: true,
      method: 'SepaCreditTransfer',
      cutOffAt: new Date('2026-04-01T13:00:00Z'),
      submitsAt: new Date('2026-04-01T10:00:00Z'),
      valueDate: '2026-04-01',
      arrivesOn: '2026-04-02',
    })
  })

  test('a credit transfer after the cut-off before Easter is sent when the bank opens again', () => {
    // Good Friday to Easter Monday, and a closed day of this bank alone.
    assert.deepEqual(at('2026-04-02T13:00:00Z'), {
      possible: true,
      method: 'SepaCreditTransfer',
      cutOffAt: new Date('2026-04-08T13:00:00Z'),
      submitsAt: new Date('2026-04-08T05:00:00Z'),
      valueDate: '2026-04-08',
      arrivesOn: '2026-04-09',
    })
  })

  test('an instant payment is sent at any time, dated by the calendar of the bank', () => {
    assert.deepEqual(at('2026-04-04T22:30:00Z', { preferred: 'Instant' }), {
      possible: true,
      method: 'SepaInstant',
      cutOffAt: null,
      submitsAt: new Date('2026-04-04T22:30:00Z'),
      valueDate: '2026-04-05',
      arrivesOn: '2026-04-05',
    })
  })

  test('a payment to an unreachable payee is not possible, with the reason of the connector', () => {
    const none = at('2026-04-01T10:00:00Z', { reach: { Instant: 'none', CreditTransfer: 'none' } })
    assert.deepEqual([none.possible, !none.possible && none.errorKey], [false, 'InvalidAccountDetails'])
  })

  test('euro outside SEPA is forecast as SWIFT, never instant, without an arrival day', () => {
    const outside = { ...payment, creditorAccount: 'SA0380000000608010167519', creditorBic: 'RJHISARI' }
    const forecast = forecastPayment(outside, new Date('2026-04-01T10:00:00Z'), { ...rules, preferred: 'Instant' })
    assert.ok(forecast.possible)
    assert.deepEqual([forecast.method, forecast.valueDate, forecast.arrivesOn], ['Swift', '2026-04-01', null])
  })
})
