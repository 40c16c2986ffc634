import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usualProfile } from '../../iso20022/index.ts'
import type { BankRules } from './deps.ts'
import { chooseScheme, isRefused } from './schemes.ts'

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
  profile: usualProfile,
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

test('a payment goes as it is preferred, where its bank and its amount allow it', () => {
  assert.deepEqual(choose(), { requested: 'Instant', applied: 'Instant', reason: null })
  assert.deepEqual(choose({ creditorBic: 'COBADEFFXXX' }), { requested: 'Instant', applied: 'Instant', reason: null })
  assert.deepEqual(choose({}, { preferred: 'CreditTransfer' }), {
    requested: 'CreditTransfer',
    applied: 'CreditTransfer',
    reason: null,
  })
})

test('a payment that cannot go as an instant one says why it goes as a credit transfer', () => {
  const tooMuch = 'the amount is above the limit of instant payments'
  assert.deepEqual(choose({ amount: 100_000_00n }), { requested: 'Instant', applied: 'Instant', reason: null })
  assert.deepEqual(choose({ amount: 100_000_01n }), asCreditTransfer(tooMuch))
  const asInstant = { requested: 'Instant', applied: 'Instant', reason: null }
  assert.deepEqual(choose({ amount: 999_999_999_99n }, { instantMax: null }), asInstant)
  const notReached = 'the bank of the recipient does not take instant payments'
  assert.deepEqual(choose({ creditorBic: 'DEUTDEFF500' }), asCreditTransfer(notReached))
  const notOffered = { ...rules.reach, Instant: 'none' } as const
  assert.deepEqual(choose({}, { reach: notOffered }), asCreditTransfer('instant payments are not offered'))
  assert.deepEqual(
    choose({ creditorBic: null }, { unknownBankReachable: false, reach: { ...rules.reach, CreditTransfer: 'all' } }),
    asCreditTransfer('the bank of the recipient is not known'),
  )
  const pounds = { ...euroAccount, currency: 'GBP' } as const
  assert.deepEqual(choose({ currency: 'GBP' }, { accounts: [pounds] }), asCreditTransfer('instant payments are in EUR'))
})

test('a payment that no credit transfer reaches goes as an instant one', () => {
  assert.deepEqual(
    choose(
      { creditorBic: 'COBADEFF' },
      { preferred: 'CreditTransfer', reach: { ...rules.reach, CreditTransfer: 'none' } },
    ),
    { requested: 'CreditTransfer', applied: 'Instant', reason: 'credit transfers are not offered' },
  )
})

test('a bank that is not named is reached where the configuration says so', () => {
  assert.deepEqual(choose({ creditorBic: null }), { requested: 'Instant', applied: 'Instant', reason: null })
})

const refusals = {
  'an account number with wrong check digits': [
    { creditorAccount: 'NL92ABNA0417164300' },
    {},
    'InvalidAccountDetails',
    'AC01',
  ],
  'an account number that is no IBAN': [{ creditorAccount: '12345678' }, {}, 'InvalidAccountDetails', 'AC01'],
  'a currency without an account': [{ currency: 'USD' }, {}, 'CurrencyNotAccepted', 'AM03'],
  'a BIC that is none': [{ creditorBic: 'nonsense' }, {}, 'InvalidAccountDetails', 'RC07'],
  'a bank that no scheme reaches': [{ creditorBic: 'BNPAFRPP' }, {}, 'BankRejection', 'CNOR'],
  'a bank that is not named where it has to be': [
    { creditorBic: null },
    { unknownBankReachable: false },
    'InvalidAccountDetails',
    'RC07',
  ],
} as const

for (const [what, [change, changed, errorKey, reasonCode]] of Object.entries(refusals))
  test(`refused: ${what}`, () => {
    const refusal = choose(change, changed)
    assert.ok('errorKey' in refusal)
    assert.deepEqual([refusal.errorKey, refusal.reasonCode], [errorKey, reasonCode])
    assert.match(refusal.details, /^[A-Z].+\.$/)
  })

test('euro outside SEPA goes as a credit transfer with a BIC, whatever the lists of SEPA say', () => {
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
