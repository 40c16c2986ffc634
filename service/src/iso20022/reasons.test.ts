/** The table of reason codes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transactions } from '@partner-payments/wire'
import { reasonOf, reasons } from './index.ts'

test('every code has an error key of the contract and a sentence', () => {
  const codes = Object.keys(reasons)
  assert.ok(codes.length > 180, `${codes.length} codes`)
  for (const code of codes) {
    const { errorKey, details } = reasonOf(code)
    assert.match(code, /^[A-Z0-9]{4}$/)
    assert.ok((transactions.errorKeys as readonly string[]).includes(errorKey), code)
    assert.match(details, /^[A-Z][^\n]*[a-z][^\n]* [^\n]*\.$/)
    assert.ok(details.split(' ').length <= 20, `${code}: ${details}`)
  }
})

/** EPC115-06 and EPC059-16: reason codes of SEPA Credit Transfer and SEPA Instant, their recalls and answers. */
const sepa =
  `AB05 AB06 AB07 AB08 AB09 AB10 AC01 AC03 AC04 AC06 AG01 AG02 AG03 AG09 AG10 AG11 AM02 AM04 AM05 AM09 AM23 ARDT
  BE01 BE04 BE05 BE06 BE07 BE08 CERI CNOR CURR CUST DNOR DT01 DUPL ED05 ERIN FF01 FOCR FR01 FRAD LEGL MD07 MS02 MS03 NARR NERI
  NOAS NOOR RC01 RC07 RF01 RR01 RR02 RR03 RR04 SL01 SL02 SL03 TECH TM01 UPAY`.split(/\s+/)
test('the codes of SEPA are in it', () =>
  assert.deepEqual(
    sepa.filter((code) => !Object.hasOwn(reasons, code)),
    [],
  ))

test('a payment goes again where only the instant way is closed, and not where the payment itself is wrong', () => {
  const again = (code: string) => reasonOf(code).retryAsCreditTransfer
  assert.deepEqual(
    ['AB05', 'AB08', 'AG03', 'AG10', 'AG11', 'AM02', 'AM23', 'CNOR', 'ED05', 'TM01'].filter((code) => !again(code)),
    [],
  )
  assert.deepEqual(
    ['AC01', 'AC04', 'AC06', 'AM04', 'AM05', 'BE04', 'DUPL', 'FR01', 'LEGL', 'MS03', 'RR04', 'XX99'].filter(again),
    [],
  )
})

test('a code that is not listed is a rejection by the bank', () => {
  for (const code of ['XX99', '', 'toString', '__proto__', 'ac01'])
    assert.deepEqual(reasonOf(code), {
      errorKey: 'BankRejection',
      details: 'The bank refused the payment.',
      retryAsCreditTransfer: false,
      isDuplicate: false,
    })
})
