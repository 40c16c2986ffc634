/** Tests the rules of rails: SEPA, domestic accounts, bank texts, payer data, requirements. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { createChooseConnector } from './rules.ts'
import { railsSettings } from './settings.ts'
import { ibanCountries, chooseRail } from './ibans.ts'
import {
  formatDomesticAccount,
  readAmericanNumber,
  readBritishNumber,
  parseDomesticAccount,
  readSortCode,
  routingProblem,
} from './domestic.ts'
import { bankTextCharsMax, joinBankTexts, withBankText } from './bank-text.ts'
import { commonNames, countriesWithNames } from '../screening/corpus/common-names.ts'
import {
  formatAddress,
  bankKey,
  missingDebtorFields,
  isInForce,
  listMissingRequirements,
  formatMissing,
  type PayerData,
  missingPayerFields,
  payerRegion,
  type RequiredPayee,
  requirements,
  listRequirements,
} from './index.ts'

const partnerId = '0190a000-0000-7000-8000-000000000001'
const otherId = '0190a000-0000-7000-8000-000000000002'
const read = railsSettings.RAIL_RULES.read

test('the first matching rule chooses the connector, and without a match RAIL chooses it', () => {
  const choose = createChooseConnector(read(`${partnerId}/Swift=sandbox, Swift/USD=none, GBP=none`), 'sandbox')
  const swift = { rail: 'Swift', currency: 'USD' } as const
  assert.equal(choose({ partnerId, ...swift }), 'sandbox')
  assert.equal(choose({ partnerId: otherId, ...swift }), undefined)
  assert.equal(choose({ partnerId: otherId, rail: 'Swift', currency: 'GBP' }), undefined)
  assert.equal(choose({ partnerId: otherId, rail: 'Sepa', currency: 'EUR' }), 'sandbox')
  assert.equal(createChooseConnector([], null)({ partnerId, ...swift }), undefined)
})

test('chains support only tokens, and banks support no tokens', () => {
  const choose = createChooseConnector(
    read(`${partnerId}=sandbox, USDC=evm-8453, EURC=none, Wallet/EUR=evm-1`),
    'sandbox',
    () => 'sandbox-chain',
  )
  const token = { partnerId, rail: 'Wallet', currency: 'USDC' } as const
  assert.equal(choose(token), 'evm-8453')
  assert.equal(choose({ ...token, currency: 'EURC' }), undefined)
  assert.equal(choose({ partnerId: otherId, rail: 'Sepa', currency: 'EUR' }), 'sandbox')
  const plain = createChooseConnector(read(`${partnerId}=sandbox`), 'sandbox', () => 'sandbox-chain')
  assert.equal(plain(token), 'sandbox-chain')
  assert.equal(createChooseConnector([], 'sandbox')(token), undefined)
})

for (const [text, reason] of [
  ['Swift', /must be rules such as Swift\/USD=none/],
  ['Swift=bank', /with a connector of sandbox, none, iso20022, iso20022-<name>, sandbox-chain/],
  ['Swift=none=none', /must be rules/],
  ['=none', /: {2}is none of them|must name rails/],
  ['swift=none', /swift is none of them/],
  ['XAU=none', /XAU is none of them/],
  ['Wallet=evm-0', /evm-<chain id>/],
  ['Swift/Sepa=none', /once in a rule: Swift\/Sepa/],
] as const)
  test(`RAIL_RULES refuses ${text}`, () => assert.throws(() => read(text), reason))

test('RAIL_RULES may be empty', () => assert.deepEqual([read(undefined), read(' ')], [[], []]))

const railFor = (iban: string, bic: string | null = null, country?: string) =>
  chooseRail('EUR', { account: `${iban}00`, bic, ...(country === undefined ? {} : { country }) })

/** EPC409-09, by name: the European Union, then the other states and Gibraltar. */
const members = `AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK
  AD AL CH GB GI IS LI MC MD ME MK NO RS SM VA`.split(/\s+/)

test('euro uses SEPA, other fiat currencies use SWIFT, and tokens use wallets', () => {
  const place = { account: 'DE00', bic: null }
  assert.deepEqual(
    (['EUR', 'USD', 'USDC'] as const).map((currency) => [chooseRail(currency, place), chooseRail(currency, undefined)]),
    [
      ['Sepa', 'Sepa'],
      ['Swift', 'Swift'],
      ['Wallet', 'Wallet'],
    ],
  )
})

test('euro is sent by SEPA to the countries of EPC409-09, and to no other country that has IBANs', () => {
  const reached = [...ibanCountries].filter((country) => railFor(country) === 'Sepa')
  assert.deepEqual(reached.toSorted(), members.toSorted())
  for (const country of ['SA', 'TR', 'RU', 'BY', 'SD', 'UA', 'XK', 'FO', 'GL', 'GE', 'IL'])
    assert.equal(railFor(country), 'Swift', country)
})

test('the rail to a territory depends on its bank or its country, not on the IBAN country that it shares', () => {
  for (const code of ['BL', 'GF', 'GP', 'MF', 'MQ', 'PM', 'RE', 'YT']) {
    assert.equal(railFor('FR', `BNPA${code}PP`), 'Sepa', code)
    assert.equal(railFor('FR', null, code), 'Sepa', code)
  }
  for (const code of ['NC', 'PF', 'TF', 'WF']) {
    assert.equal(railFor('FR', `BNPA${code}PP`), 'Swift', code)
    assert.equal(railFor('FR', null, code), 'Swift', code)
  }
  for (const code of ['GG', 'IM', 'JE']) assert.equal(railFor('GB', `BARC${code}22`), 'Sepa', code)
  assert.equal(railFor('FI', 'AABAAX22'), 'Sepa')
  assert.equal(railFor('MC', 'BNPAFRPP'), 'Sepa')
  assert.equal(railFor('VA', 'BCITITMM'), 'Sepa')
  assert.equal(railFor('FR', 'BNPAFRPP', 'NC'), 'Sepa', 'the bank is in France')
})

test('a formatted domestic account is parsed back, and other texts are refused', () => {
  for (const account of [
    { system: 'GBDSC', sortCode: '200000', accountNumber: '55779911' },
    { system: 'USABA', routingNumber: '021000021', accountNumber: '12-3456789A' },
  ] as const)
    assert.deepEqual({ ...parseDomesticAccount(formatDomesticAccount(account)) }, account)
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
    assert.equal(parseDomesticAccount(text), undefined, text)
})

test('sort codes and account numbers are accepted in common notations', () => {
  for (const text of ['20-00-00', '200000', '20 00 00']) assert.equal(readSortCode(text), '200000')
  for (const text of ['2000', '20-00-0a', '20000000', '']) assert.equal(readSortCode(text), undefined)
  assert.deepEqual(['55779911', '577991', '5779911'].map(readBritishNumber), ['55779911', '00577991', '05779911'])
  for (const text of ['12345', '123456789', '1234567a', '']) assert.equal(readBritishNumber(text), undefined)
  assert.deepEqual(['12 345', '1234567890abcdefg', '0'].map(readAmericanNumber), ['12345', '1234567890ABCDEFG', '0'])
  for (const text of ['', 'abc', '123456789012345678', '12/3']) assert.equal(readAmericanNumber(text), undefined)
})

test('valid routing numbers pass, and mistyped ones are refused', () => {
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

test('a bank text becomes one plain line in its own script', () => {
  assert.equal(
    joinBankTexts(['Town and country of the creditor', 'are required for this destination']),
    'Town and country of the creditor are required for this destination',
  )
  assert.equal(
    joinBankTexts(['Prüfung: Konto\t“gesperrt”\r\nрахунок 口座 حساب']),
    'Prüfung: Konto “gesperrt” рахунок 口座 حساب',
  )
})

test('control characters, direction marks and markup are left out', () => {
  assert.equal(joinBankTexts(['\u202eabc\u2066\u200b\u0000d\u2028e\ufeff']), 'abc d e')
  assert.equal(joinBankTexts(['<script>alert(1)</script>Account <b>closed</b><!-- x -->']), 'alert(1) Account closed')
  assert.equal(joinBankTexts(['amount < 5 and > 3, <<i>b>']), 'amount ‹ 5 and › 3, ‹ b›')
})

test('an empty bank text is null', () => {
  for (const texts of [[], [''], [' \n'], ['NOTPROVIDED'], ['not provided'], ['N/A'], ['-'], ['\u200b'], ['0000']])
    assert.equal(joinBankTexts(texts), null, JSON.stringify(texts))
  assert.equal(withBankText('It failed.', null), 'It failed.')
})

test('a long text is cut between characters and marked', () => {
  const cut = joinBankTexts(['😀'.repeat(bankTextCharsMax + 1)]) ?? ''
  assert.equal(Array.from(cut).length, bankTextCharsMax)
  assert.ok(cut.endsWith('😀…'))
  assert.equal(joinBankTexts(['a'.repeat(bankTextCharsMax)]), 'a'.repeat(bankTextCharsMax))
})

test('any bank text is limited, and cleaning it again changes nothing', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 400 }), { maxLength: 3 }), (texts) => {
      const text = joinBankTexts(texts)
      if (text === null) return
      assert.ok(Array.from(text).length <= bankTextCharsMax)
      assert.doesNotMatch(text, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>]|^\s|\s$/u)
      assert.equal(joinBankTexts([text]), text)
    }),
  )
})

suite('data of payers', () => {
  const person: PayerData = {
    ...{ isPerson: true, name: 'Ada Lovelace', account: null, customerNumber: 'cus_0123456789abcdef', lei: null },
    address: { lines: [], postCode: null, town: null, country: null },
    documentNumber: null,
  }
  const address = { ...person.address, town: 'Berlin', country: 'DE' }

  test('the region of a bank depends on its BIC or account; an unknown bank is outside the EEA', () => {
    const inside = [
      ['NL91ABNA0417164300', null],
      ['IS140159260076545510730339', null],
      ['FR1420041010050500013M02606', 'BNPAGPGX'],
    ] as const
    const outside = [
      ['CH9300762011623852957', null],
      ['GB29NWBK60161331926819', null],
      ['USABA021000021/123456789', null],
      ['FR1420041010050500013M02606', 'BNPANCNX'],
      ['', null],
      ['0123', ''],
    ] as const
    assert.deepEqual(new Set(inside.map(([account, bic]) => payerRegion(account, bic))), new Set(['inside']))
    assert.deepEqual(new Set(outside.map(([account, bic]) => payerRegion(account, bic))), new Set(['outside']))
    assert.deepEqual(
      [bankKey('NL91ABNA0417164300', ''), bankKey('DE89370400440532013000', ''), bankKey('', 'NWBKGB2LXXX')],
      ['NLABNA', 'DE37040044', 'NWBKGB2L'],
    )
    assert.equal(bankKey('123', ''), '')
  })

  test('a payment inside the EEA needs a name, and one outside above 1,000 euros an address and a document', () => {
    const lacks = (
      payer: PayerData,
      region: 'inside' | 'outside',
      amount = 1_000_01n,
      currency: 'EUR' | 'USD' = 'EUR',
    ) => missingPayerFields(payer, { region, amount, currency })
    assert.deepEqual(lacks(person, 'inside'), [])
    assert.deepEqual(lacks({ ...person, name: null }, 'inside'), ['name'])
    assert.deepEqual(lacks(person, 'outside', 1_000_00n), [])
    assert.deepEqual(lacks(person, 'outside'), ['address', 'document'])
    // Another currency cannot be compared with the limit.
    assert.deepEqual(lacks(person, 'outside', 1n, 'USD'), ['address', 'document'])
    assert.deepEqual(lacks({ ...person, address: { ...address, country: null } }, 'outside'), ['address', 'document'])
    assert.deepEqual(lacks({ ...person, address, documentNumber: 'T22000129' }, 'outside'), [])
    assert.deepEqual(lacks({ ...person, isPerson: false, address }, 'outside'), [])
  })

  test('placeholders do not count as names, and names of twelve countries do', () => {
    const debtor = { account: 'NL91ABNA0417164300', bic: '', countryCode: 'NL', address: null }
    const lacks = (name: string) => missingDebtorFields({ ...debtor, name }, { currency: 'EUR', amount: 1n })
    const fillers = ['', ' ', '-', '...', 'X', 'XXXXX', 'xxx xxx', '0000', 'N/A', 'n.a.', 'NOTPROVIDED', 'Not provided']
    const more = [
      'unknown',
      'Our customer',
      'ONE OF OUR CUSTOMERS',
      'Kunde',
      'customer',
      'asdfgh',
      'qwerty',
      'Anonymous',
      'None',
    ]
    for (const name of [...fillers, ...more]) assert.deepEqual(lacks(name), ['name'], name)
    const names = [
      'Li',
      'Bo Li',
      'Ng',
      'Kundera',
      'Testa',
      'Unknown Pleasures Ltd',
      'Customer First BV',
      '李娜',
      'محمد',
      'Nil Yalter',
    ]
    for (const name of names) assert.deepEqual(lacks(name), [], name)
    const common = countriesWithNames.flatMap((country) => commonNames(country, 7, 80))
    assert.equal(common.length, 12 * 200)
    assert.deepEqual(
      common.filter((name) => lacks(name).length > 0),
      [],
    )
  })
})

suite('requirements', () => {
  const address = { city: 'New York', country: 'US' }
  const american: RequiredPayee = {
    ...{ currency: 'USD', account: 'USABA021000021/123456789', bic: null, country: 'US', address: null },
  }
  const german: RequiredPayee = { ...american, currency: 'EUR', account: 'DE89370400440532013000', country: 'DE' }
  const fieldsOf = (payee: RequiredPayee, day: string, profile?: string) =>
    listMissingRequirements(payee, day, profile)
      .filter((one) => isInForce(one, day))
      .map(({ field }) => field)

  test('each requirement has a source, a known field and valid dates', () => {
    const fields =
      /^(address(\.(streetName|buildingNumber|postalCode|city|state|country|lines))?|bic|accountType|purpose)$/
    for (const { field, source, from, until } of requirements) {
      assert.match(field, fields)
      assert.ok(source.length > 20, field)
      for (const day of [from, until].filter((each) => each !== undefined))
        assert.equal(Temporal.PlainDate.from(day).toString(), day)
    }
  })

  test('a payee abroad needs city and country from 14 November 2026, but a payee within SEPA never does', () => {
    assert.deepEqual(fieldsOf(american, '2026-11-13'), [])
    assert.deepEqual(
      listMissingRequirements(american, '2026-11-13').map(({ field, from }) => [field, from]),
      [
        ['address.city', '2026-11-14'],
        ['address.country', '2026-11-14'],
      ],
    )
    assert.deepEqual(fieldsOf(american, '2026-11-14'), ['address.city', 'address.country'])
    assert.deepEqual(fieldsOf({ ...american, address }, '2026-11-14'), [])
    assert.deepEqual(
      fieldsOf({ ...american, currency: 'GBP', account: 'GBDSC200000/55779911', country: 'GB' }, '2026-11-29'),
      ['address.city', 'address.country'],
    )
    assert.deepEqual([fieldsOf(german, '2026-11-29'), listMissingRequirements(german, '2020-01-01')], [[], []])
    assert.deepEqual(fieldsOf({ ...german, account: 'CH9300762011623852957', country: 'CH' }, '2026-11-29'), [])
  })

  test('an account outside SEPA needs a BIC (with two profiles also in other currencies), but a domestic account does not', () => {
    const saudi = { ...german, account: 'SA0380000000608010167519', country: 'SA', address }
    assert.deepEqual(fieldsOf(saudi, '2020-01-01'), ['bic'])
    assert.deepEqual(fieldsOf({ ...saudi, bic: 'RJHISARI' }, '2026-11-29'), [])
    // A French IBAN at a bank in New Caledonia is outside SEPA.
    const french = { ...german, account: 'FR1420041010050500013M02606', country: 'FR', bic: 'BNPANCNX' }
    assert.deepEqual(fieldsOf(french, '2026-11-29'), ['address.city', 'address.country'])
    const pounds = { ...saudi, currency: 'GBP', account: 'GB29NWBK60161331926819', country: 'GB' } as const
    const swiss = { ...pounds, account: 'CH9300762011623852957', country: 'CH' }
    assert.deepEqual(
      [undefined, 'epc-09', 'sps-09', 'cgi-09'].map((id) => fieldsOf(pounds, '2026-11-29', id)),
      [[], [], ['bic'], ['bic']],
    )
    assert.deepEqual(
      ['sps-09', 'cgi-09'].map((id) => fieldsOf(swiss, '2026-11-29', id)),
      [[], ['bic']],
    )
    assert.deepEqual(
      ['sps-09', 'cgi-09'].map((id) => fieldsOf({ ...american, address }, '2026-11-29', id)),
      [[], []],
    )
  })

  test('a corridor lists current and later requirements once each, and tokens have no requirements', () => {
    const listed = (corridor: Parameters<typeof listRequirements>[0], day: string) =>
      listRequirements(corridor, day).map(({ party, field, rule, from }) => [party, field, rule, from].join(' ').trim())
    const dollars = listed({ currency: 'USD', rail: 'Swift', country: 'US' }, '2026-11-29')
    assert.deepEqual(dollars, [
      'Payee address.city Required 2026-11-14',
      'Payee address.country Required 2026-11-14',
      'Payee address.lines Refused 2026-11-14',
      'Payee address.streetName Recommended',
      'Payee address.buildingNumber Recommended',
      'Payee address.postalCode Recommended',
      'Payee address.state Recommended',
      'Payee accountType Recommended',
      'Payer address Required 2026-11-14',
    ])
    assert.deepEqual(listed({ currency: 'EUR', rail: 'Sepa', country: 'DE' }, '2026-11-29'), [
      'Payee address.lines Refused 2026-11-15',
    ])
    assert.ok(
      listed({ currency: 'GBP', rail: 'Swift', country: 'GB' }, '2026-11-29').includes(
        'Payment purpose Recommended 2027-11-01',
      ),
    )
    assert.ok(listed({ currency: 'EUR', rail: 'Sepa', country: 'CH' }, '2026-11-29').includes('Payer address Required'))
    assert.deepEqual(listed({ currency: 'USDC', rail: 'Wallet', country: 'US' }, '2026-11-29'), [])
  })

  test('a missing field is described with its day and source, and an address is one line', () => {
    assert.match(
      formatMissing(listMissingRequirements(american, '2026-11-29')),
      /^address\.city and address\.country from 2026-11-14 \(SWIFT CBPR\+/,
    )
    assert.equal(
      formatAddress({ streetName: 'Wall Street', buildingNumber: '1', postalCode: '10005', state: 'NY', ...address }),
      'Wall Street 1, 10005 New York, NY, US',
    )
    assert.equal(formatAddress(address), 'New York, US')
  })
})
