import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { permissions, rawNumber } from '@partner-payments/wire'
import { checkPage, evil, viewOf } from '../../../../test/support/console-pages.ts'
import { type ConsoleLanguage, consoleLanguages, consoleTexts } from '../kit/language.ts'
import { readExactAmount } from '../kit/request.ts'
import { exchangePage, quoteFields, quotePage } from './exchange.ts'
import { visiblePlaces } from './places.ts'
import { newWalletPage, walletFields, walletPage, walletsPage } from './wallets.ts'

const at = new Date('2026-11-24T14:30:07Z')
const wholeQuery = (names: readonly string[], text: string) => Object.fromEntries(names.map((name) => [name, text]))
const insideOf = (language: ConsoleLanguage, current: string) =>
  viewOf(language, { places: visiblePlaces(consoleTexts[language], permissions, true), current })

type NamedPages = readonly (readonly [name: string, page: string])[]

function exchangePages(language: ConsoleLanguage, text: string): NamedPages {
  const view = insideOf(language, 'exchange')
  const rate = { currency: text, rate: '1.07890000', midRate: '1.0843', marginBasisPoints: 50 }
  const rates = { base: text, source: text, asOf: at, rates: [rate, { ...rate, marginBasisPoints: 0 }] }
  const may = { write: true, transactions: true }
  const form = { currencies: ['EUR', text], values: { side: 'sell', kind: 'firm' }, problems: {}, may }
  const typed = wholeQuery(quoteFields, text)
  const quote = {
    ...{ status: 'Open' as const, rate: '1.0789', midRate: '1.0843', createdAt: at, expiresAt: at, secondsLeft: 45 },
    sold: { amount: '1250.00', currency: 'EUR' },
    bought: { amount: '1348.62', currency: 'USD' },
    margin: { amount: '6.75', currency: 'USD', basisPoints: 50 },
    fee: { amount: '0.00', currency: 'EUR' },
    ...{ againHref: '../x', convertHref: '../exchange/q1/conversion', mayWrite: true, idempotencyKey: text },
    ...{ isNew: false, refusal: undefined, problems: {} },
  }
  const parts = {
    customer: { name: text, href: '../x' },
    available: { amount: '9000.00', currency: 'EUR' },
  }
  const transaction = { reference: text, href: '../x' }
  return [
    ['exchange', exchangePage(view, { ...form, rates, base: text })],
    ['exchange read only', exchangePage(view, { ...form, rates, base: undefined, may: { ...may, write: false } })],
    ['no rates', exchangePage(view, { ...form, base: undefined })],
    ['refused base', exchangePage(view, { ...form, base: text, problems: { base: text } })],
    [
      'refused quote',
      exchangePage(view, { ...form, rates, base: undefined, values: typed, problems: { ...typed, form: text } }),
    ],
    ['quote', quotePage(view, { ...quote, ...parts })],
    ['quote read only', quotePage(view, { ...quote, customer: { name: text }, mayWrite: false })],
    ['quote above a largest balance', quotePage(view, { ...quote, ...parts, refusal: 'balance_limit_exceeded' })],
    ['refused conversion', quotePage(view, { ...quote, problems: { form: text } })],
    ['expired quote', quotePage(view, { ...quote, status: 'Expired', secondsLeft: 0 })],
    ['conversion', quotePage(view, { ...quote, ...parts, status: 'Accepted', transaction, isNew: true })],
    ['conversion read only', quotePage(view, { ...quote, status: 'Accepted', transaction: { reference: text } })],
  ]
}

function walletPages(language: ConsoleLanguage, text: string): NamedPages {
  const view = insideOf(language, 'wallets')
  const row = {
    ...{ id: 'w1', address: text, currency: 'USDC', network: text, chainId: 8453, received: rawNumber('12.500000') },
    createdAt: at.toISOString(),
  }
  const owned = { ...row, id: 'w2', customer: { name: text, href: '../x' } }
  const values = wholeQuery(walletFields, text)
  const tokens = ['USDC', text]
  const list = { tokens, values: {}, problems: {}, pages: {}, mayWrite: true }
  const pages = { next: '../x', first: '../x' }
  return [
    ['wallets', walletsPage(view, { ...list, rows: [row, owned], values, problems: values, pages })],
    ['wallets read only', walletsPage(view, { ...list, rows: [row], mayWrite: false })],
    ['no wallets', walletsPage(view, { ...list, rows: [] })],
    ['new wallet', newWalletPage(view, { tokens, values: {}, problems: {}, idempotencyKey: text })],
    [
      'refused wallet',
      newWalletPage(view, { tokens, values, problems: { ...values, form: text }, idempotencyKey: text }),
    ],
    ['wallet', walletPage(view, { ...owned, depositsHref: '../x', simulateHref: '../x', isNew: true })],
    ['own wallet', walletPage(view, { ...row, isNew: false })],
  ]
}

const pagesOf = (language: ConsoleLanguage, text: string): NamedPages => [
  ...exchangePages(language, text),
  ...walletPages(language, text),
]

suite('every page of exchange and wallets', () => {
  test('escapes hostile texts, labels fields, has relative links and is small', () => {
    for (const [name, page] of consoleLanguages.flatMap((language) => pagesOf(language, evil))) checkPage(name, page)
  })

  test('offers forms only to people who may write, and the button of a quote only while it is valid', () => {
    const page = new Map(pagesOf('en', 'x'))
    assert.match(page.get('exchange') ?? '', /action="..\/exchange"[^]*Get quote/)
    assert.doesNotMatch(page.get('exchange read only') ?? '', /Get quote/)
    assert.match(page.get('quote') ?? '', /action="..\/exchange\/q1\/conversion"/)
    for (const name of ['quote read only', 'expired quote', 'conversion'])
      assert.doesNotMatch(page.get(name) ?? '', /\/conversion"/, name)
    assert.match(page.get('wallets') ?? '', /wallets\/new/)
    assert.doesNotMatch(page.get('wallets read only') ?? '', /wallets\/new/)
  })

  test('shows amounts, rates and margins with every digit, in the format of the language', () => {
    const [english, german] = [new Map(pagesOf('en', 'x')), new Map(pagesOf('de', 'x'))]
    assert.match(english.get('quote') ?? '', /1,250\.00 <abbr>EUR[^]*1 EUR = 1\.0789 USD[^]*0\.50% \(6\.75 USD\)/)
    assert.match(german.get('quote') ?? '', /1\.250,00 <abbr>EUR[^]*1 EUR = 1,0789 USD[^]*0,50\u00A0% \(6,75 USD\)/)
    assert.match(english.get('exchange') ?? '', /1\.07890000/)
    assert.match(english.get('quote') ?? '', /data-seconds="45"/)
  })

  test('warns of other chains and tokens on the page of a wallet, with the whole address', () => {
    const wallet = new Map(walletPages('en', 'base')).get('own wallet') ?? ''
    assert.match(wallet, /Send only USDC on the chain base \(chain id 8453\)/)
    assert.match(wallet, /data-copy="base"/)
  })
})

test('an amount keeps its decimals, and is ambiguous if three digits could be thousands', () => {
  for (const [text, expected] of [
    ['0.000001', '0.000001'],
    ['1250,5', '1250.5'],
    [' 12 ', '12'],
    ['1,250', 'ambiguous'],
    ['1.250', 'ambiguous'],
    ['1,250.00', undefined],
    ['-1', undefined],
    ['1e3', undefined],
    ['', undefined],
  ] as const)
    assert.equal(readExactAmount(text), expected, text)
})
