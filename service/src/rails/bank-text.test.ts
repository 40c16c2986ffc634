import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bankTextCharsMax, bankTextOf, withBankText } from './bank-text.ts'

test('the words of a bank are one plain line, in their own characters', () => {
  assert.equal(
    bankTextOf(['Town and country of the creditor', 'are required for this destination']),
    'Town and country of the creditor are required for this destination',
  )
  assert.equal(
    bankTextOf(['Prüfung: Konto\t“gesperrt”\r\nрахунок 口座 حساب']),
    'Prüfung: Konto “gesperrt” рахунок 口座 حساب',
  )
})

test('control characters, direction marks and markup are left out', () => {
  assert.equal(bankTextOf(['\u202eabc\u2066\u200b\u0000d\u2028e\ufeff']), 'abc d e')
  assert.equal(bankTextOf(['<script>alert(1)</script>Account <b>closed</b><!-- x -->']), 'alert(1) Account closed')
  assert.equal(bankTextOf(['amount < 5 and > 3, <<i>b>']), 'amount ‹ 5 and › 3, ‹ b›')
})

test('a bank that says nothing has no words', () => {
  for (const texts of [[], [''], [' \n'], ['NOTPROVIDED'], ['not provided'], ['N/A'], ['-'], ['\u200b'], ['0000']])
    assert.equal(bankTextOf(texts), null, JSON.stringify(texts))
  assert.equal(withBankText('It failed.', null), 'It failed.')
})

test('a long text is cut between characters, and says so', () => {
  const cut = bankTextOf(['😀'.repeat(bankTextCharsMax + 1)]) ?? ''
  assert.equal(Array.from(cut).length, bankTextCharsMax)
  assert.ok(cut.endsWith('😀…'))
  assert.equal(bankTextOf(['a'.repeat(bankTextCharsMax)]), 'a'.repeat(bankTextCharsMax))
})

test('whatever a bank sends is bounded, and stays as it is when it is read again', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 400 }), { maxLength: 3 }), (texts) => {
      const text = bankTextOf(texts)
      if (text === null) return
      assert.ok(Array.from(text).length <= bankTextCharsMax)
      assert.doesNotMatch(text, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>]|^\s|\s$/u)
      assert.equal(bankTextOf([text]), text)
    }),
  )
})
