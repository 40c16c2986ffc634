/** Reports with hostile data stay well-formed, and contain the country of residence of a customer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../kernel/index.ts'
import { monitoringSettings } from '../monitoring/settings.ts'
import { goamlReport, type ReportedAlert, type ReportedPayment } from './goaml.ts'

const hostile = '</person><x a="1">&#0;]]>\u0000\u0008\ud800\uffff<!-- -->'
const at = new Date('2026-01-08T09:00:00Z')
const customerId = newId()
const payment: ReportedPayment = {
  ...{ id: newId(), transactionId: newId(), reference: 'txn_1', amount: 970_00n, local: 970_00n, currency: 'EUR' },
  ...{ userAmount: null, userCurrency: null, direction: 'Inward', customerId, beneficiaryId: null },
  ...{ account: hostile, bic: 'ABCD<&XX', otherName: hostile, otherCountry: '<&', description: hostile },
  ...{ type: 'PartnerCustomerDeposit', status: 'Completed', createdAt: at, changedAt: at, counts: true },
  ...{ isUnbegun: false, isFailed: false, isBack: false, isUndone: false, isSession: false },
}
const reporting: Parameters<typeof goamlReport>[0] = {
  ...{
    entityId: '1',
    person: [hostile, hostile],
    location: [hostile, hostile, '<&'],
    currency: 'EUR',
    rates: new Map(),
  },
  codes: monitoringSettings.FIU_CODES.read(undefined),
}

/** Returns the names of the elements of an XML text. Throws if the text is not well-formed. */
function elementsOf(text: string): readonly string[] {
  const open: string[] = []
  const found: string[] = []
  for (const [, close, name = '', rest = ''] of text.matchAll(/<(\/?)(\w+)>|<|&(?!(?:amp|lt|gt|#13);)|\p{Cs}/gu)) {
    assert.notEqual(name, '', rest)
    if (close === '') found.push(name)
    if (close === '') open.push(name)
    else assert.equal(open.pop(), name)
  }
  assert.deepEqual(open, [])
  return found
}

test('a report with hostile names is well-formed and contains the country of the address', () => {
  const kyc = { fullName: hostile, addressLine1: hostile, city: hostile, postalCode: hostile, mobilePhone: hostile }
  const person: NonNullable<ReturnType<ReportedAlert['customers']['get']>> = {
    ...{
      id: customerId,
      serviceId: 'cus_1',
      partnerCustomerIdentifier: null,
      email: hostile,
      createdAt: at,
      updatedAt: at,
    },
    ...{ customerType: 'Individual', kyc: { ...kyc, addressCountryCode: 'PT', citizenshipCountryCode: 'BR' } },
  }
  const alert: ReportedAlert = {
    ...{ id: newId(), partnerName: hostile, kind: 'structuring', reason: hostile, action: hostile, reportedAt: at },
    ...{ payments: [payment], customers: new Map([[customerId, person]]) },
  }
  const { text, missing } = goamlReport(reporting, alert)
  const names = elementsOf(text.slice(text.indexOf('<report>')))
  assert.deepEqual(names.slice(-2), ['report_indicators', 'indicator'])
  assert.match(text, /<nationality1>BR<\/nationality1>.*<country_code>PT<\/country_code>/)
  assert.ok(!missing.some((lacking) => lacking.startsWith('country of the address')))
})
