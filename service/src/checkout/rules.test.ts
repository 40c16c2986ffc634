import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import fc from 'fast-check'
import { isValidBIC, isValidIBAN } from 'ibantools'
import { Refusal } from '../kernel/api/index.ts'
import { defaultIssuers } from '../accounts/settings.ts'
import { formatCreditorReference } from '../iso20022/index.ts'
import { planPayerSteps, sandboxBankCountries } from '../banks/sandbox/script.ts'
import { epcText, sessionFingerprint, sessionDurationMs, parseSessionRequest, type SessionCreate } from './rules.ts'

/** Fields as in JSON: an undefined field is absent. */
type Fields = { readonly [K in keyof SessionCreate]?: SessionCreate[K] | undefined }
const withFields = (fields: Fields) => ({ ...valid, ...fields }) as SessionCreate

const valid = { amount: rawNumber('49.90'), currency: 'EUR', idempotencyKey: 'k', customerId: 'c' } as SessionCreate

const refusal = (fields: Fields, sandbox = false): Refusal => {
  try {
    parseSessionRequest(withFields(fields), sandbox)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error(`accepted: ${JSON.stringify(fields)}`)
}
const pointer = (fields: Fields) => refusal(fields).errors[0]?.pointer

test('a session lasts an hour and has the usual method of its currency by default', () => {
  const { expires, paymentMethod, returnUrl } = parseSessionRequest(valid, false)
  assert.deepEqual(
    { expires, paymentMethod, returnUrl },
    { expires: { afterMs: 3_600_000 }, paymentMethod: 'SepaCreditTransfer', returnUrl: null },
  )
  assert.equal(parseSessionRequest({ ...valid, currency: 'USD' }, false).paymentMethod, 'Swift')
})

test('a session expires after some seconds or at a given time, between five minutes and 30 days from now', () => {
  const now = new Date('2026-11-29T12:00:00Z')
  const ends = (expiresAt: string) =>
    sessionDurationMs(parseSessionRequest({ ...valid, expiresAt }, false).expires, now)
  assert.equal(ends('2026-11-29T12:05:00Z'), 300_000)
  assert.equal(ends('2026-12-29T12:00:00Z'), 2_592_000_000)
  for (const wrong of ['2026-11-29T12:04:59Z', '2026-12-29T12:00:01Z', '2026-11-28T12:00:00Z'])
    assert.throws(() => ends(wrong), Refusal, wrong)
  assert.equal(pointer({ expiresAt: '2026-11-30T12:00:00Z', expiresInSeconds: 300 }), '/expiresAt')
})

test('a wrong field is refused with its pointer', () => {
  assert.equal(pointer({ customerId: undefined }), '/customerId')
  assert.equal(pointer({ customer: { email: 'a@example.com' } }), '/customer')
  assert.equal(pointer({ customerId: undefined, customer: { email: 'a"b@example.com' } }), '/customer/email')
  assert.equal(pointer({ paymentCountryCode: 'XX' }), '/paymentCountryCode')
  assert.equal(
    pointer({ customerId: undefined, customer: { email: 'a@example.com', residenceCountryCode: 'XX' } }),
    '/customer/residenceCountryCode',
  )
  assert.equal(pointer({ paymentMethod: 'Swift' }), '/paymentMethod')
  assert.equal(pointer({ paymentMethod: 'SepaInstant', currency: 'USD' }), '/paymentMethod')
  assert.equal(refusal({ currency: 'EURC' }).code, 'currency_not_supported')
})

test('a return URL must be https without credentials; the sandbox also accepts http to localhost', () => {
  for (const returnUrl of [
    'javascript:alert(1)',
    'data:text/html,x',
    'http://shop.example.com/',
    'https://user:pw@shop.example.com/',
    'https://shop.example.com\\@evil.example/',
    'https:/shop.example.com',
    '//shop.example.com',
    'https://shop example.com',
  ])
    assert.equal(refusal({ returnUrl }, true).errors[0]?.pointer, '/returnUrl', returnUrl)
  assert.equal(pointer({ returnUrl: 'http://localhost:3000/' }), '/returnUrl')
  assert.equal(
    parseSessionRequest({ ...valid, returnUrl: 'http://localhost:3000/' }, true).returnUrl,
    'http://localhost:3000/',
  )
})

test('every field of a request is part of its fingerprint', () => {
  const fingerprint = (fields: Fields) => {
    const body = withFields(fields)
    return sessionFingerprint(body, parseSessionRequest(body, false))
  }
  const others: readonly Fields[] = [
    { amount: rawNumber('49.91') },
    { currency: 'USD' },
    { customerId: 'd' },
    { customerId: undefined, customer: { email: 'a@example.com' } },
    { customerId: undefined, customer: { email: 'a@example.com', fullName: 'Ada' } },
    { paymentCountryCode: 'FR' },
    { paymentMethod: 'SepaInstant' },
    { returnUrl: 'https://shop.example.com/' },
    { websiteReference: 'w' },
    { customFields: { a: 1 } },
    { expiresInSeconds: 300 },
  ]
  assert.equal(new Set([fingerprint({}), ...others.map(fingerprint)]).size, 1 + others.length)
  assert.equal(fingerprint({ amount: rawNumber('49.9'), expiresInSeconds: 3600 }), fingerprint({}))
})

const transfer = {
  accountHolder: 'Acme Ltd',
  iban: 'DE89370400440532013000',
  bic: null,
  amount: 4990n,
  currency: 'EUR',
  creditorReference: 'RF18539007547034',
} as const

test('the code of a SEPA transfer has the lines of EPC069-12, version 002', () => {
  const lines = ['BCD', '002', '1', 'SCT', '', 'Acme Ltd', transfer.iban, 'EUR49.90', '', 'RF18539007547034']
  assert.equal(epcText(transfer), lines.join('\n'))
  assert.equal(epcText({ ...transfer, bic: 'COBADEFFXXX' })?.split('\n')[4], 'COBADEFFXXX')
  assert.equal(epcText({ ...transfer, currency: 'USD' }), undefined)
})

test('for any name the code has ten lines, at most 70 characters of name and 331 bytes of ASCII data', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 140 }),
      fc.bigInt(1n, 1_000_000_000n),
      (accountHolder, amount) => {
        const lines =
          epcText({
            ...transfer,
            accountHolder,
            amount,
            creditorReference: formatCreditorReference('A'.repeat(21)),
          })?.split('\n') ?? []
        assert.equal(lines.length, 10)
        assert.ok(Array.from(lines[5] ?? '').length <= 70)
      },
    ),
  )
  const ascii = epcText({ ...transfer, accountHolder: 'N'.repeat(140), bic: 'COBADEFFXXX', amount: 1_000_000_000n })
  assert.ok(Buffer.byteLength(ascii ?? '') <= 331)
})

test('the accounts and BICs that the sandbox invents have the form of real ones', () => {
  for (const { bic } of defaultIssuers) assert.ok(isValidBIC(bic ?? ''), bic ?? 'none')
  for (const countryCode of sandboxBankCountries) {
    const payer = { name: 'Ada', ipAddress: '', countryCode, money: { currency: 'EUR', amount: 1n } } as const
    const [planned] = planPayerSteps(['accept'], payer)
    assert.ok(planned)
    const { debtor } = planned.payload as { debtor: { account: string; bic: string; countryCode: string } }
    assert.ok(isValidIBAN(debtor.account), debtor.account)
    assert.ok(isValidBIC(debtor.bic), debtor.bic)
    assert.equal(debtor.countryCode, countryCode)
  }
})
