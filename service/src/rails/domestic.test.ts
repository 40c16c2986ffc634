/** Accounts without an IBAN: their texts, sort codes, and routing numbers of American banks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  domesticText,
  readAmericanNumber,
  readBritishNumber,
  readDomestic,
  readSortCode,
  routingProblem,
} from './domestic.ts'

test('the text of an account is read back, and no other text is one', () => {
  for (const account of [
    { system: 'GBDSC', sortCode: '200000', accountNumber: '55779911' },
    { system: 'USABA', routingNumber: '021000021', accountNumber: '12-3456789A' },
  ] as const)
    assert.deepEqual({ ...readDomestic(domesticText(account)) }, account)
  for (const text of [
    ...[
      '',
      'GB29NWBK60161331926819',
      'GBDSC200000',
      'GBDSC20000/55779911',
      'GBDSC200000/5577991',
      'gbdsc200000/55779911',
    ],
    ...[
      'USABA021000021/',
      'USABA021000021/123456789012345678',
      'GBDSC200000/55779911 ',
      '0x52908400098527886E0F7030069857D2E4169EE7',
    ],
  ])
    assert.equal(readDomestic(text), undefined, text)
})

test('sort codes and account numbers are read as people write them', () => {
  for (const text of ['20-00-00', '200000', '20 00 00']) assert.equal(readSortCode(text), '200000')
  for (const text of ['2000', '20-00-0a', '20000000', '']) assert.equal(readSortCode(text), undefined)
  assert.deepEqual(['55779911', '577991', '5779911'].map(readBritishNumber), ['55779911', '00577991', '05779911'])
  for (const text of ['12345', '123456789', '1234567a', '']) assert.equal(readBritishNumber(text), undefined)
  assert.deepEqual(['12 345', '1234567890abcdefg', '0'].map(readAmericanNumber), ['12345', '1234567890ABCDEFG', '0'])
  for (const text of ['', 'abc', '123456789012345678', '12/3']) assert.equal(readAmericanNumber(text), undefined)
})

test('routing numbers of banks are right, and one that is copied wrongly is not', () => {
  // JPMorgan Chase, Bank of America, Citibank, Wells Fargo, the Federal Reserve Bank of New York, TD Bank, the Treasury.
  const banks = ['021000021', '026009593', '021000089', '121000248', '021001208', '031201360', '000000518']
  assert.deepEqual(
    banks.map(routingProblem),
    banks.map(() => undefined),
  )
  for (const bank of banks)
    for (let at = 2; at < 9; at += 1) {
      const digit = (Number(bank[at]) + 1) % 10
      assert.equal(routingProblem(`${bank.slice(0, at)}${digit}${bank.slice(at + 1)}`), 'checkDigit', `${bank} ${at}`)
    }
  assert.deepEqual(['02100002', '0210000210', 'O21000021', ''].map(routingProblem), ['form', 'form', 'form', 'form'])
  assert.deepEqual(
    ['000000000', '130000000', '500000000', '990000000'].map(routingProblem),
    Array.from({ length: 4 }, () => 'prefix'),
  )
})
