/** The forecast of a file-based bank: it says what the connector then does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ForecastPayment } from '../../rails/index.ts'
import { usualProfile } from '../../iso20022/index.ts'
import type { BankRules } from './deps.ts'
import { forecastOf } from './forecast.ts'

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
  profile: usualProfile,
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
const at = (time: string, more: Partial<BankRules> = {}) => forecastOf(payment, new Date(time), { ...rules, ...more })

test('before the cut-off a credit transfer goes on the same day, and arrives on the next bank day', () => {
  assert.deepEqual(at('2026-04-01T10:00:00Z'), {
    possible: true,
    method: 'SepaCreditTransfer',
    cutOffAt: new Date('2026-04-01T13:00:00Z'),
    submitsAt: new Date('2026-04-01T10:00:00Z'),
    valueDate: '2026-04-01',
    arrivesOn: '2026-04-02',
  })
})

test('behind the cut-off before Easter it goes when the bank is open again', () => {
  // Good Friday to Easter Monday, and a day on which only this bank is closed.
  assert.deepEqual(at('2026-04-02T13:00:00Z'), {
    possible: true,
    method: 'SepaCreditTransfer',
    cutOffAt: new Date('2026-04-08T13:00:00Z'),
    submitsAt: new Date('2026-04-08T05:00:00Z'),
    valueDate: '2026-04-08',
    arrivesOn: '2026-04-09',
  })
})

test('an instant payment goes at any time, on the day of the bank', () => {
  assert.deepEqual(at('2026-04-04T22:30:00Z', { preferred: 'Instant' }), {
    possible: true,
    method: 'SepaInstant',
    cutOffAt: null,
    submitsAt: new Date('2026-04-04T22:30:00Z'),
    valueDate: '2026-04-05',
    arrivesOn: '2026-04-05',
  })
})

test('what no scheme reaches is not possible, with the reason of the connector', () => {
  const none = at('2026-04-01T10:00:00Z', { reach: { Instant: 'none', CreditTransfer: 'none' } })
  assert.deepEqual([none.possible, !none.possible && none.errorKey], [false, 'InvalidAccountDetails'])
})

test('euro outside SEPA is forecast by SWIFT, never as an instant payment, and promises no day', () => {
  const outside = { ...payment, creditorAccount: 'SA0380000000608010167519', creditorBic: 'RJHISARI' }
  const forecast = forecastOf(outside, new Date('2026-04-01T10:00:00Z'), { ...rules, preferred: 'Instant' })
  assert.ok(forecast.possible)
  assert.deepEqual([forecast.method, forecast.valueDate, forecast.arrivesOn], ['Swift', '2026-04-01', null])
})
