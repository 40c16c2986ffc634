/** The files of each profile obey the rules of its market and the schemas, use SEPA characters, and are read back. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { rulesOf } from '../../../../test/support/iso-incoming.ts'
import { messagesIn, ownSchemas, schemaErrors } from '../../../../test/support/iso-schemas.ts'
import { judged } from '../../../../test/support/profile-rules.ts'
import { samplesFolder } from '../../../../test/support/samples.ts'
import { chunks } from '../../../../scripts/iso-documents.ts'
import {
  type Pain001Profile,
  type PaymentKind,
  profileIds,
  profileById,
  readPain001,
  recogniseMessage,
  type ProfileRule,
  defaultProfile,
} from '../../iso20022/index.ts'
import { newId } from '../../kernel/index.ts'
import { isQrIban, type PayerData, readQrReference, requirements } from '../../rails/index.ts'
import type { BankRules } from './deps.ts'
import { groupByFile, assignBatch, buildPaymentMessage } from './message.ts'
import { chooseScheme, isRefused, paymentKind } from './schemes.ts'
import type { OutgoingPayment } from './store-instructions.ts'
import { buildRecallMessage } from './recalls.ts'

const profiles = profileIds.map((id) => profileById(id) ?? defaultProfile)
const monday = new Date('2026-11-23T09:00:00.000Z')
const today = '2026-11-23'
/** The reference of the samples of SIX. */
const qrReference = '210000000003139471430009017'
const account = {
  iban: 'DE89370400440532013000',
  bic: 'COBADEFFXXX',
  currency: 'EUR' as const,
  ownerName: 'Example Payments Ltd, a company with a name of more than seventy characters in all',
  ownerAddress: { street: 'Königstraße', buildingNumber: '1', postCode: '10115', town: 'Berlin', country: 'DE' },
}
const rulesFor = (profile: Pain001Profile, more: Partial<BankRules> = {}): BankRules =>
  rulesOf('', {
    accounts: [
      account,
      { ...account, iban: 'GB29NWBK60161331926819', currency: 'GBP' },
      { ...account, iban: 'DE02120300000000202051', currency: 'USD' },
    ],
    initiator: { name: 'Example', id: 'EXAMPLE01' },
    profile,
    ...more,
  })
const paymentOf = (change: Partial<OutgoingPayment> = {}): OutgoingPayment => ({
  partnerId: newId(),
  id: newId(),
  endToEndId: 'Rent//2026',
  currency: 'EUR',
  amount: 12_34n,
  creditorName: 'Jürgen Größe & Söhne',
  creditorAccount: 'NL91ABNA0417164300',
  creditorBic: 'ABNANL2A',
  remittance: 'Rechnung № 7',
  schemeApplied: 'CreditTransfer',
  attempt: 1,
  ...change,
})
const berlin = {
  ...{ streetName: 'Königstraße', buildingNumber: '1a', postalCode: '10115', city: 'Berlin', country: 'DE' },
  state: 'Land Berlin',
}
const creditorAddressJson = JSON.stringify(berlin)
const billOf = {
  creditorAccount: 'CH4431999123000889012',
  creditorBic: null,
  remittance: '21 00000 00003 13947 14300 09017',
}
const examples: Readonly<Record<PaymentKind, readonly OutgoingPayment[]>> = {
  Sepa: [
    paymentOf(),
    paymentOf({ creditorBic: null, remittance: 'RF18 5390 0754 7034' }),
    paymentOf({ remittance: null, creditorAddressJson }),
  ],
  Instant: [paymentOf({ schemeApplied: 'Instant' }), paymentOf({ schemeApplied: 'Instant', creditorAddressJson })],
  Other: [
    paymentOf({ currency: 'GBP', creditorAccount: 'GB29NWBK60161331926819', creditorBic: 'NWBKGB2L' }),
    paymentOf({ currency: 'GBP', creditorAccount: 'GBDSC601613/31926819', creditorBic: null }),
    paymentOf({ currency: 'USD', creditorAccount: 'USABA021000021/123456789', creditorBic: 'CHASUS33' }),
    paymentOf({
      ...{ currency: 'USD', creditorAccount: 'USABA021000021/123456789', creditorBic: 'CHASUS33' },
      ...{ creditorAccountType: 'Savings', creditorAddressJson },
    }),
  ],
  QrBill: [paymentOf(billOf), paymentOf({ ...billOf, creditorAddressJson })],
}
const person: PayerData = {
  isPerson: true,
  name: 'Zoë Müller-Łukasiewicz',
  account: 'DE76370400440000000001',
  customerNumber: 'cus_0123456789abcdef',
  address: { lines: ['Größe Straße 12a', 'Hinterhaus, 3. Stock'], postCode: '10115', town: 'Berlin', country: 'DE' },
  documentNumber: 'T22000129',
  lei: null,
}
/** Customers as payers: with and without an account, an address and an LEI, with texts that are too long. */
const payers: readonly PayerData[] = [
  person,
  { ...person, account: null, documentNumber: null, address: { ...person.address, town: null } },
  { ...person, name: null },
  {
    ...{ ...person, isPerson: false, name: `Société ${'générale '.repeat(20)}`, lei: '529900T8BM49AURSDO55' },
    address: { lines: ['x'.repeat(140), 'y'.repeat(140)], postCode: '75001', town: 'z'.repeat(70), country: 'FR' },
    documentNumber: 'HRB 1234 '.repeat(9),
  },
  { ...person, isPerson: false, account: null, lei: 'as given', documentNumber: null },
]
/** Files contain payments of one currency. */
const filesOf = (kind: PaymentKind): readonly (readonly OutgoingPayment[])[] => [
  ...Map.groupBy(
    examples[kind].flatMap((payment) => [payment, ...payers.map((payer) => ({ ...payment, id: newId(), payer }))]),
    ({ currency }) => currency,
  ).values(),
]
const file = { id: newId(), messageId: `P${newId().replaceAll('-', '')}`, madeAt: monday }
const written = (
  profile: Pain001Profile,
  payments: readonly OutgoingPayment[],
  more: Partial<BankRules> = {},
  madeAt: Date = monday,
): string =>
  buildPaymentMessage({ ...file, madeAt }, assignBatch(file.id, payments), rulesFor(profile, more)).bytes.toString()

const official = samplesFolder === undefined ? undefined : join(samplesFolder, 'iso20022', 'schemas')
const known = official === undefined ? [] : messagesIn(official)

/** The last days before a rule of a profile or a requirement begins or ends, and the first days after that, at noon. */
const ruleDays = [
  ...new Set(
    [...profiles.flatMap(({ rules }) => rules as readonly ProfileRule[]), ...requirements].flatMap(
      ({ from, until }) => [
        ...(from === undefined ? [] : [from]),
        ...(until === undefined ? [] : [Temporal.PlainDate.from(until).add({ days: 1 }).toString()]),
      ],
    ),
  ),
].toSorted()
const cutOvers = ruleDays.flatMap((day) => {
  const first = Temporal.PlainDate.from(day)
  return [first.subtract({ days: 2 }), first.subtract({ days: 1 }), first, first.add({ days: 1 })].map(
    (each) => new Date(`${each.toString()}T12:00:00.000Z`),
  )
})
const executionDayIn = (xml: string): string => /<ReqdExctnDt>(?:<Dt>)?(\d{4}-\d\d-\d\d)/.exec(xml)?.[1] ?? ''

for (const profile of profiles)
  suite(profile.title, () => {
    const kinds = (Object.keys(examples) as PaymentKind[]).filter((kind) => profile.kinds[kind] !== undefined)

    test('files of a profile obey every rule of its market and are parsed back unchanged', async () => {
      assert.ok(profile.rules.every(({ source }) => source in profile.sources))
      for (const [kind, payments] of kinds.flatMap((each) => filesOf(each).map((list) => [each, list] as const))) {
        assert.ok(payments.every((payment) => paymentKind(payment, { profile }) === kind))
        const xml = written(profile, payments)
        const { broken, places } = judged(xml, profile.rules, kind)
        assert.deepEqual(broken, [])
        assert.ok(places >= 8)
        const found = await readPain001(chunks(Buffer.from(xml)))
        assert.deepEqual(
          found.batches.flatMap(({ transfers }) => transfers.map(({ money }) => money.minor)),
          payments.map(({ amount }) => amount),
        )
        const name = await recogniseMessage(chunks(Buffer.from(xml)))
        assert.equal(`${name?.kind}.001.${name?.version}`, profile.message)
      }
    })

    test(
      'files of a profile are valid by our schema',
      { skip: profile.message === 'pain.001.001.09' ? false : 'of 09 only' },
      async () => {
        const documents = kinds.flatMap((kind) => filesOf(kind).map((payments) => written(profile, payments)))
        assert.deepEqual(await schemaErrors(profile.message, documents, ownSchemas), [])
      },
    )

    test('files of a profile obey the rules and schemas in force on the days around each cut-over', async () => {
      assert.ok(ruleDays.includes('2026-11-14') && ruleDays.includes('2026-11-15'))
      const documents = cutOvers.flatMap((madeAt) =>
        kinds.flatMap((kind) =>
          filesOf(kind).map((payments) => ({ kind, xml: written(profile, payments, {}, madeAt) })),
        ),
      )
      for (const { kind, xml } of documents) assert.deepEqual(judged(xml, profile.rules, kind).broken, [])
      assert.deepEqual([...new Set(documents.map(({ xml }) => executionDayIn(xml) > '2026-11-14'))].toSorted(), [
        false,
        true,
      ])
      const old = profile.id === 'epc-03'
      for (const { xml } of documents) {
        const isBefore = executionDayIn(xml) < '2026-11-15'
        // Version 03 cannot express the second line of a payer's address: the address is hybrid.
        const withoutPayers = xml.replaceAll(/<UltmtDbtr>.*?<\/UltmtDbtr>/gs, '')
        assert.equal(/<AdrLine>/.test(withoutPayers), old && isBefore, executionDayIn(xml))
        if (!old || !isBefore)
          assert.equal((xml.match(/<TwnNm>/g) ?? []).length, (xml.match(/<PstlAdr>/g) ?? []).length)
      }
      if (official === undefined) return
      for (const { name, kinds: ofSchema, until = '9999' } of profile.schemas as Pain001Profile['schemas']) {
        if (!known.includes(name)) continue
        const own = documents.filter(
          ({ kind, xml }) => (ofSchema?.includes(kind) ?? true) && executionDayIn(xml) <= until,
        )
        assert.deepEqual(
          await schemaErrors(
            name,
            own.map(({ xml }) => xml),
            official,
            name === profile.message ? 'ISO' : 'schema',
          ),
          [],
        )
      }
    })

    for (const schema of profile.schemas as Pain001Profile['schemas']) {
      // Files of today no longer obey this rule; the test of the cut-overs covers files that did.
      if (schema.until !== undefined && schema.until < today) continue
      // The collection stores the Swiss restriction under the name of the message.
      const name = schema.name === 'pain.001.001.09.ch.03' ? 'pain.001.001.09' : schema.name
      const missing =
        official === undefined
          ? 'SAMPLES_DIR is not set: it has the official schemas'
          : `SAMPLES_DIR has no ${schema.name}.xsd: the restriction of the market was not checked`
      test(
        `files of a profile are valid by ${schema.name}`,
        { skip: known.includes(name) ? false : missing },
        async () => {
          const judgedKinds = kinds.filter((kind) => schema.kinds?.includes(kind) ?? true)
          const documents = judgedKinds.flatMap((kind) => filesOf(kind).map((payments) => written(profile, payments)))
          const by = schema.name === profile.message ? 'ISO' : 'schema'
          assert.deepEqual(await schemaErrors(name, documents, official, by), [])
          const [first = ''] = documents
          assert.notDeepEqual(await schemaErrors(name, [first.replace('<PmtMtd>TRF', '<PmtMtd>XXX')], official, by), [])
        },
      )
    }
  })

test('the file states as much about a customer as the scheme allows', async () => {
  const ultimate = async (profileId: string, payment: OutgoingPayment | undefined, payer: PayerData) => {
    assert.ok(payment)
    const xml = written(profileById(profileId) ?? defaultProfile, [{ ...payment, payer }])
    const found = await readPain001(chunks(Buffer.from(xml)))
    return found.batches[0]?.transfers[0]?.ultimateDebtor
  }
  const name = 'Zoe Mueller-Lukasiewicz'
  const iban = { id: 'DE76370400440000000001', scheme: { proprietary: 'IBAN' } }
  const inSepa = { name, id: { kind: 'private', others: [iban] } }
  const address = {
    ...{ street: 'Groesse Strasse 12a', buildingName: 'Hinterhaus, 3. Stock', postCode: '10115' },
    ...{ town: 'Berlin', country: 'DE' },
  }
  for (const { id } of profiles) assert.deepEqual(await ultimate(id, examples.Sepa[0], person), inSepa, id)
  const number = { id: 'cus-0123456789abcdef', scheme: { code: 'CUST' } }
  const document = { id: 'T22000129', scheme: { code: 'NIDN' } }
  const abroad = { ...inSepa, address, id: { kind: 'private', others: [iban, number, document] } }
  for (const id of ['epc-09', 'cgi-09']) assert.deepEqual(await ultimate(id, examples.Other[0], person), abroad, id)
  assert.deepEqual(await ultimate('sps-09', examples.Other[0], person), { ...inSepa, address })
  assert.deepEqual(await ultimate('sps-09', examples.QrBill[0], person), { ...inSepa, address })
  const withoutAccount = await ultimate('epc-09', examples.Sepa[0], { ...person, account: null })
  assert.deepEqual(withoutAccount, { name, id: { kind: 'private', others: [number] } })
  // Citizenship or a town alone is not an address, and a nameless party is omitted.
  const { town: _town, ...rest } = person.address
  const noTown = await ultimate('epc-09', examples.Other[0], { ...person, address: { ...rest, town: null } })
  assert.equal(noTown?.address, undefined)
  assert.equal(await ultimate('epc-09', examples.Sepa[0], { ...person, name: null }), undefined)
  const company = { ...person, isPerson: false, lei: '529900T8BM49AURSDO55', documentNumber: 'HRB 7' }
  const inRegister = { id: 'HRB 7', scheme: { code: 'COID' } }
  const lei = { lei: '529900T8BM49AURSDO55' }
  assert.deepEqual((await ultimate('epc-09', examples.Other[0], company))?.id, {
    ...{ kind: 'organisation', ...lei, others: [iban, number, inRegister] },
  })
  assert.deepEqual((await ultimate('sps-09', examples.Sepa[0], company))?.id, {
    ...{ kind: 'organisation', ...lei, others: [iban] },
  })
  // Version 03 has one identifier in SEPA: the account takes it.
  assert.deepEqual((await ultimate('epc-03', examples.Sepa[0], company))?.id, { kind: 'organisation', others: [iban] })
})

test('a broken rule is reported with its source', () => {
  const [dk] = profiles.filter(({ id }) => id === 'dk-09')
  assert.ok(dk)
  const xml = written(dk, examples.Sepa)
  for (const [from, to, path] of [
    ['<ChrgBr>SLEV', '<ChrgBr>SHAR', 'PmtInf/ChrgBr'],
    ['Ccy="EUR">', 'Ccy="GBP">', 'PmtInf/CdtTrfTxInf/Amt/InstdAmt/@Ccy'],
    ['<TwnNm>Berlin</TwnNm>', '', 'PmtInf/Dbtr/PstlAdr/TwnNm'],
    ['<Cdtr><Nm>', '<Cdtr><X>', 'PmtInf/CdtTrfTxInf/Cdtr/Nm'],
  ] as const) {
    const changed = xml.replace(from, to).replace('<X>Juergen Groesse + Soehne</Nm>', '<X>y</X>')
    const { broken } = judged(changed, dk.rules, 'Sepa')
    assert.ok(broken.length > 0 && broken.every((each) => each.startsWith(path)), `${path}: ${broken.join('; ')}`)
  }
})

test('files of the default profile have the same bytes as before profiles existed', () => {
  const xml = written(defaultProfile, examples.Sepa.slice(0, 1))
  const { id } = examples.Sepa[0] ?? { id: '' }
  assert.equal(
    xml.replace(file.messageId, 'M').replaceAll(file.id.replaceAll('-', ''), 'F').replace(id.replaceAll('-', ''), 'I'),
    '<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn>' +
      '<GrpHdr><MsgId>M</MsgId><CreDtTm>2026-11-23T09:00:00.000Z</CreDtTm><NbOfTxs>1</NbOfTxs><CtrlSum>12.34</CtrlSum>' +
      '<InitgPty><Nm>Example</Nm><Id><OrgId><Othr><Id>EXAMPLE01</Id></Othr></OrgId></Id></InitgPty></GrpHdr>\n' +
      '<PmtInf><PmtInfId>F-1</PmtInfId><PmtMtd>TRF</PmtMtd><BtchBookg>false</BtchBookg><NbOfTxs>1</NbOfTxs><CtrlSum>12.34</CtrlSum>' +
      '<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf><ReqdExctnDt><Dt>2026-11-23</Dt></ReqdExctnDt>' +
      '<Dbtr><Nm>Example Payments Ltd, a company with a name of more than seventy chara</Nm><PstlAdr><StrtNm>Koenigstrasse</StrtNm>' +
      '<BldgNb>1</BldgNb><PstCd>10115</PstCd><TwnNm>Berlin</TwnNm><Ctry>DE</Ctry></PstlAdr></Dbtr>' +
      '<DbtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id><Ccy>EUR</Ccy></DbtrAcct>' +
      '<DbtrAgt><FinInstnId><BICFI>COBADEFFXXX</BICFI></FinInstnId></DbtrAgt><ChrgBr>SLEV</ChrgBr>\n' +
      '<CdtTrfTxInf><PmtId><InstrId>I</InstrId><EndToEndId>Rent/2026</EndToEndId></PmtId><Amt><InstdAmt Ccy="EUR">12.34</InstdAmt></Amt>' +
      '<CdtrAgt><FinInstnId><BICFI>ABNANL2A</BICFI></FinInstnId></CdtrAgt><Cdtr><Nm>Juergen Groesse + Soehne</Nm></Cdtr>' +
      '<CdtrAcct><Id><IBAN>NL91ABNA0417164300</IBAN></Id></CdtrAcct><RmtInf><Ustrd>Rechnung No 7</Ustrd></RmtInf></CdtTrfTxInf>' +
      '</PmtInf>\n</CstmrCdtTrfInitn></Document>\n',
  )
})

test('purposes, the charge bearer and payee verification are written as configured', () => {
  const psa = profileById('psa-09') ?? defaultProfile
  const more = { categoryPurpose: 'SUPP', purpose: 'GDDS', chargeBearer: 'DEBT', payeeCheck: 'out' } as const
  const xml = written(psa, examples.Sepa, more)
  assert.match(xml, /<CtgyPurp><Cd>SUPP<\/Cd><\/CtgyPurp>/)
  assert.match(xml, /<Purp><Cd>GDDS<\/Cd><\/Purp>/)
  assert.match(xml, /<\/DbtrAgt><InstrForDbtrAgt>VoPOptOut<\/InstrForDbtrAgt><ChrgBr>SLEV/)
  assert.deepEqual(judged(xml, psa.rules, 'Sepa').broken, [])
  assert.match(written(defaultProfile, examples.Other, more), /<ChrgBr>DEBT<\/ChrgBr>/)
  assert.doesNotMatch(written(defaultProfile, examples.Other, more), /InstrForDbtrAgt/)
})

test('a file states the type of an American account if the market allows it', async () => {
  const [typed] = examples.Other.filter(({ creditorAccountType }) => creditorAccountType === 'Savings')
  assert.ok(typed)
  for (const profile of profiles.filter(({ kinds }) => kinds.Other !== undefined)) {
    const xml = written(profile, [
      typed,
      { ...typed, id: newId(), creditorAccountType: 'Checking' },
      { ...typed, id: newId(), creditorAccountType: null },
    ])
    const found = await readPain001(chunks(Buffer.from(xml)))
    assert.deepEqual(
      found.batches.flatMap(({ transfers }) => transfers.map(({ creditorAccountType }) => creditorAccountType)),
      profile.id === 'sps-09' ? [undefined, undefined, undefined] : ['SVGS', 'CACC', undefined],
      profile.id,
    )
  }
})

test('payments of each kind and currency are grouped into separate files', () => {
  const sps = profileById('sps-09') ?? defaultProfile
  const groups = groupByFile(Object.values(examples).flat(), { profile: sps })
  assert.deepEqual(
    groups.map((group) => [
      ...new Set(group.map((payment) => `${payment.currency} ${paymentKind(payment, { profile: sps })}`)),
    ]),
    [['EUR Instant'], ['EUR QrBill'], ['EUR Sepa'], ['GBP Other'], ['USD Other']],
  )
})

test('a file of an earlier version keeps its two batches when built again', async () => {
  const batches = [...examples.Sepa.slice(0, 1), ...examples.Other.slice(0, 1)].map((payment, index) => ({
    ...payment,
    batchId: `F-${index + 1}`,
  }))
  const xml = buildPaymentMessage(file, batches, rulesFor(defaultProfile)).bytes.toString()
  const found = await readPain001(chunks(Buffer.from(xml)))
  assert.deepEqual(
    found.batches.map(({ id, serviceLevel, chargeBearer }) => [id, serviceLevel, chargeBearer]),
    [
      ['F-1', 'SEPA', 'SLEV'],
      ['F-2', 'NURG', 'SHAR'],
    ],
  )
})

test('in every profile a QR-IBAN needs a QR reference, which no other Swiss account accepts', () => {
  assert.equal(readQrReference(billOf.remittance), qrReference)
  assert.equal(readQrReference(qrReference.replace(/7$/, '8')), undefined)
  assert.deepEqual(
    [readQrReference(null), readQrReference('Rent'), isQrIban('CH9300762011623852957')],
    [undefined, undefined, false],
  )
  const bill = paymentOf(billOf)
  for (const profile of profiles) {
    const codeOf = (change: Partial<OutgoingPayment>) => {
      const choice = chooseScheme({ ...bill, ...change }, rulesFor(profile), today)
      return isRefused(choice) ? choice.reasonCode : 'sent'
    }
    const codes = [
      codeOf({}),
      ...['Rent', null, qrReference.slice(1), qrReference.replace(/7$/, '8'), 'RF18539007547034'].map((remittance) =>
        codeOf({ remittance }),
      ),
      codeOf({ creditorAccount: 'LI5130808012345678901', remittance: 'Rent' }),
      codeOf({ creditorAccount: 'CH9300762011623852957' }),
      codeOf({ creditorAccount: 'CH9300762011623852957', remittance: 'RF18539007547034' }),
      codeOf({ creditorAccount: 'NL91ABNA0417164300' }),
    ]
    assert.deepEqual(codes, ['sent', ...Array(6).fill('CH21'), 'CH17', 'sent', 'sent'], profile.id)
    const { remittance: _unknown, ...preview } = bill
    assert.equal(isRefused(chooseScheme(preview, rulesFor(profile), today)), false)
  }
})

test('a payment that the profile does not support is refused, and a payment abroad needs the BIC if the profile requires it', () => {
  const codeOf = (id: string, payment: OutgoingPayment) => {
    const choice = chooseScheme(payment, rulesFor(profileById(id) ?? defaultProfile, { preferred: 'Instant' }), today)
    return isRefused(choice) ? choice.reasonCode : choice.applied
  }
  const outside = paymentOf({ creditorAccount: 'SA0380000000608010167519', creditorBic: 'RJHISARI' })
  const [pounds] = examples.Other
  assert.ok(pounds)
  const unnamed = { ...pounds, creditorBic: null }
  assert.deepEqual(
    ['dk-09', 'psa-09', 'cfonb-09', 'epc-09'].map((id) => codeOf(id, outside)),
    ['CNOR', 'CNOR', 'CNOR', 'CreditTransfer'],
  )
  assert.deepEqual(
    ['sps-09', 'cgi-09', 'epc-09'].map((id) => codeOf(id, unnamed)),
    ['RC07', 'RC07', 'CreditTransfer'],
  )
  assert.equal(codeOf('sps-09', { ...unnamed, creditorAccount: 'CH9300762011623852957' }), 'CreditTransfer')
  assert.deepEqual([codeOf('sps-09', paymentOf()), codeOf('dk-09', paymentOf())], ['CreditTransfer', 'Instant'])
})

suite('characters', () => {
  type Payment = Parameters<typeof buildPaymentMessage>[1][number]
  type Recalled = Parameters<typeof buildRecallMessage>[2][number]

  const madeAt = new Date('2026-11-24T09:00:00Z')
  const ids = { id: newId(), messageId: 'P1', madeAt }
  const key = {
    partnerId: newId(),
    id: newId(),
    currency: 'EUR',
    amount: 1_00n,
    attempt: 1,
    schemeApplied: 'CreditTransfer',
  } as const
  const addressOf = (text: string) => ({
    street: text,
    buildingNumber: text,
    postCode: text,
    town: text,
    country: 'DE',
    lines: [text, text],
  })
  const rulesWith = (text: string) => {
    const rules = rulesOf('', { initiator: { name: text, id: text } })
    return {
      ...rules,
      accounts: rules.accounts.map((account) => ({ ...account, ownerName: text, ownerAddress: addressOf(text) })),
    }
  }

  /** Builds files of both kinds with the text in every text field. */
  function filesWith(text: string) {
    const rules = rulesWith(text)
    const creditor = { creditorName: text, creditorAccount: 'DE89370400440532013000', creditorBic: null }
    const payment = { ...key, ...creditor, endToEndId: text, remittance: text, batchId: 'B1' } as Payment
    const recall = {
      ...key,
      recallId: newId(),
      endToEndId: text,
      details: text,
      reason: 'DUPL',
      batchId: 'B1',
    } as Recalled
    return {
      'pain.001.001.09': buildPaymentMessage(ids, [payment], rules).bytes.toString(),
      'camt.055.001.08': buildRecallMessage(
        { ...ids, kind: 'camt.055', messageId: 'R1' },
        { ...ids, messageName: 'pain.001.001.09' },
        [recall],
        rules,
      ).bytes.toString(),
    }
  }
  const textsIn = (xml: string) =>
    [...xml.matchAll(/>([^<]+)</g)]
      .map(([, text = '']) => text.replaceAll('&apos;', "'"))
      .filter((text) => text.trim() !== '')
  const valueOf = (xml: string, name: string) => new RegExp(`<${name}>([^<]*)<`).exec(xml)?.[1]

  test('texts from real messages: an address, an en dash and an umlaut', () => {
    const { 'pain.001.001.09': payments } = filesWith('Königstraße 1–3')
    assert.equal(valueOf(payments, 'StrtNm'), 'Koenigstrasse 1-3')
    const { 'camt.055.001.08': recalls } = filesWith('Doppelte Überweisung – „bitte“ zurück')
    assert.match(valueOf(recalls, 'AddtlInf') ?? '', /^Doppelte Ueberweisung - /)
    assert.match(valueOf(recalls, 'AddtlInf') ?? '', / zurueck$/)
  })

  test('a recall repeats the end-to-end id of the payment', () => {
    const files = filesWith('//Rechnung Nº 5/ü')
    assert.equal(valueOf(files['camt.055.001.08'], 'OrgnlEndToEndId'), valueOf(files['pain.001.001.09'], 'EndToEndId'))
  })

  test('any text in any field is written in SEPA characters and valid by the schema', async () => {
    const texts = fc.sample(
      fc.oneof(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
        fc.string({ unit: 'binary', minLength: 1 }),
      ),
      { numRuns: 150, seed: 12 },
    )
    const files = [...texts, 'ß'.repeat(300), 'Щ'.repeat(300), '\0', '☃', "'", '&<>'].map(filesWith)
    for (const name of ['pain.001.001.09', 'camt.055.001.08'] as const) {
      for (const file of files) for (const text of textsIn(file[name])) assert.match(text, /^[A-Za-z0-9/\-?:().,'+ ]+$/)
      assert.deepEqual(
        await schemaErrors(
          name,
          files.map((file) => file[name]),
        ),
        [],
      )
    }
  })
})
