import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { minuteMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { BankEntry, EntryDetail } from '../../iso20022/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { addPartner, balanceOf, createTestService, type Service } from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  connectorId,
  type EntryOptions,
  entryOf,
  ownIban,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'

const isoAccount = { connector: connectorId, account: ownIban, currency: 'EUR' } as const
let service: Service
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
let iban: string
let partnerId: string
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => 'iso20022', bankAccounts: [isoAccount] })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
  const partner = await addPartner(service)
  partnerId = partner.partnerId
  iban = (await service.accounts.create(partnerId, partner.customer.id)).ibans[0].iban
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

const posted = async () => (await balanceOf(service, partnerId)).posted
const kindsOfCases = async () => (await casesOf(service)).map(({ kind, booked }) => [kind, booked])
/** An entry on Thursday, 8 January 2026, unless `more` names another day. */
const credit = (
  detail: Partial<EntryDetail>,
  { bookingDate = '2026-01-08', ...more }: EntryOptions = {},
): BankEntry => {
  const { bankReference: _none, ...entry } = entryOf(10_00n, { details: [{ creditorAccount: { iban }, ...detail }] })
  return { ...entry, bookingDate, ...more } as BankEntry
}
let files = 0
let balance = 0n
beforeEach(() => void (balance = 0n))
const put = async (text: string) => folders.put(`${(files += 1)}.xml`, text)
const announce = async (...entries: readonly BankEntry[]) => {
  await put(reportXml(entries))
  await bank.work()
}
const list = async (on: string, ...entries: readonly BankEntry[]) => {
  const opening = balance
  for (const { amount, isCredit } of entries) balance += (isCredit ? 1n : -1n) * (amount.minor ?? 0n)
  await put(reportXml(entries, { kind: 'camt.053', opening, closing: balance, on, statementId: on }))
  await bank.work()
}

const ada = { name: 'Ada Müller-Lüdenscheidt' }
const adaAccount = { iban: 'DE89370400440532013000' }
const text = 'Invoice 2026-0815 of 3 January, customer number 4711'
const whole = {
  references: { endToEndId: 'E2E-1', transactionId: 'TX-1' },
  debtor: ada,
  debtorAccount: adaAccount,
  remittance: { unstructured: [text] },
} as const

const pairs: Readonly<Record<string, readonly [BankEntryOf: () => BankEntry, listed: () => BankEntry, on?: string]>> = {
  'a reference only in the statement': [() => credit(whole), () => credit(whole, { bankReference: 'ASR1' })],
  'different references': [
    () => credit(whole, { bankReference: 'N1' }),
    () => credit(whole, { bankReference: 'ASR1' }),
  ],
  'a date one day later, because of a weekend': [
    () => credit(whole, { bookingDate: '2026-01-10' }),
    () => credit(whole, { bookingDate: '2026-01-12' }),
    '2026-01-12',
  ],
  'a truncated text': [
    () => credit({ ...whole, references: {} }),
    () => credit({ ...whole, references: {}, remittance: { unstructured: [text.slice(0, 35)] } }),
  ],
  'no account of the payer': [
    () => credit({ ...whole, references: {} }),
    () => credit({ references: {}, debtor: ada, remittance: whole.remittance }),
  ],
  'a name in capitals without accents': [
    () => credit({ references: {}, debtor: ada, debtorAccount: adaAccount }),
    () => credit({ references: {}, debtor: { name: 'ADA MUELLER-LUEDENSCHEI' }, debtorAccount: adaAccount }),
  ],
  'only the UETR': [
    () => credit({ references: { uetr: '8a562c67-ca16-48ba-b074-65581be6f011' }, debtor: ada }),
    () => credit({ references: { uetr: '8a562c67-ca16-48ba-b074-65581be6f011' } }),
  ],
}
for (const [title, [announced, listed, on = '2026-01-08']] of Object.entries(pairs))
  for (const order of ['announced first', 'listed first'] as const)
    test(`a credit counts once: ${title}, ${order}`, async () => {
      if (order === 'announced first') await announce(announced())
      await list(on, listed())
      if (order === 'listed first') await announce(announced())
      await announce(announced())
      assert.equal(await posted(), 10_00n)
      assert.deepEqual(await kindsOfCases(), [])
      assert.deepEqual(await service.db.rows(sql`select statement_id is not null as listed from rails.iso_entries`), [
        { listed: true },
      ])
    })

test('a credit counts once in an interim report, a notification and two statements that overlap', async () => {
  await put(reportXml([credit({ ...whole, debtorAccount: adaAccount })], { kind: 'camt.052' }))
  await announce(credit(whole, { bankReference: 'N1' }))
  const listed = credit({ ...whole, remittance: { unstructured: [text.slice(0, 35)] } }, { bankReference: 'ASR1' })
  await list('2026-01-08', listed)
  balance = 0n
  await list('2026-01-08', listed, credit({ references: { endToEndId: 'E2E-2' } }, { bankReference: 'ASR2' }))
  assert.equal(await posted(), 20_00n)
})

test('an entry is matched with the payments in the message that it refers to', async () => {
  const detail = (minor: bigint, endToEndId: string): Partial<EntryDetail> & { readonly charges: [] } => ({
    ...{ references: { endToEndId }, amount: { currency: 'EUR', minor }, creditorAccount: { iban }, charges: [] },
  })
  const batch = credit({}, { details: [detail(4_00n, 'A'), detail(6_00n, 'B')], bankReference: 'N1' } as EntryOptions)
  const { details: _none, ...sum } = credit({}, { bankReference: 'ASR1', detailsIn: { messageId: 'MSG54' } })
  await put(reportXml([batch], { messageId: 'MSG54' }))
  await bank.work()
  // A different booking of the same amount, with its own payments.
  await list(
    '2026-01-08',
    { ...sum, details: [] },
    { ...sum, detailsIn: { messageId: 'OTHER' }, bankReference: 'ASR2', details: [] },
  )
  assert.equal(await posted(), 10_00n)
  const listed = await service.db.rows(
    sql`select kind, statement_id is not null as listed from rails.iso_entries order by amount`,
  )
  assert.deepEqual(listed, [
    { kind: 'credit', listed: true },
    { kind: 'credit', listed: true },
    { kind: 'waiting', listed: true },
  ])
})

test('the money of an entry without references waits for two people, because it may be the announced entry', async () => {
  await announce(credit(whole, { bankReference: 'N1' }))
  await list('2026-01-08', credit({ references: {} }, { bankReference: 'ASR1' }))
  assert.equal(await posted(), 10_00n)
  const kinds = (await casesOf(service)).map(({ kind }) => kind)
  assert.deepEqual(kinds.toSorted(), ['announced_missing', 'unknown_payment'])
  const found = (await service.cases.list(undefined, 10)).find(({ kind }) => kind === 'unknown_payment')
  const { id = '', partnerId: owner = operatorPartnerId } = found ?? {}
  const key = { partnerId: owner, id, note: 'The bank says that it is the same.' }
  await service.db.transaction((tx) => service.decisions.propose(tx, { ...key, action: 'announced', staff: 'Ada' }))
  await service.db.transaction((tx) => service.decisions.approve(tx, { ...key, staff: 'Joan' }))
  assert.deepEqual(await service.db.rows(sql`select statement_id is not null as listed from rails.iso_entries`), [
    { listed: true },
  ])
  // The repeated statement contains nothing new.
  balance = 0n
  await list('2026-01-08', credit({ references: {} }, { bankReference: 'ASR1' }))
  assert.equal(await posted(), 10_00n)
  assert.deepEqual(
    await service.db.rows(sql`
    select name, posted from ledger.accounts where name = 'suspense' and posted <> 0`),
    [],
  )
})

test('an entry whose references differ from those of the announced one is a separate payment', async () => {
  await announce(credit(whole))
  await list('2026-01-08', credit({ references: { endToEndId: 'E2E-2' }, debtor: { name: 'Grace' } }))
  assert.equal(await posted(), 20_00n)
  assert.deepEqual(await kindsOfCases(), [['announced_missing', null]])
})

test('a credit with few details is not matched with the entry of another credit of the same payer', async () => {
  const payer = { references: {}, debtor: ada, debtorAccount: adaAccount }
  const unstructured = (invoice: string) => ({ remittance: { unstructured: [`Invoice ${invoice}, customer 4711`] } })
  for (const first of ['1001', '1002']) {
    const on = first === '1001' ? '2026-01-08' : '2026-01-09'
    const at = { bookingDate: on }
    const [one, other] = [unstructured(`${first}-A`), unstructured(`${first}-B`)]
    await announce(credit({ ...payer, ...one }, { ...at, bankReference: `${first}A` }))
    await announce(credit({ ...payer, ...other }, { ...at, bankReference: `${first}B` }))
    // The statement has one entry without a text and one without a payer.
    const named = first === '1001' ? one : other
    await list(on, credit(payer, at), credit({ references: {}, ...named }, at))
  }
  assert.equal(await posted(), 40_00n)
  assert.deepEqual(await kindsOfCases(), [])
})

test('if a bank uses a reference twice on a day, neither booking is matched with the entry of the other', async () => {
  const payer = { references: {}, debtor: ada, debtorAccount: adaAccount }
  const other = { amount: { currency: 'EUR', minor: 9_00n } } as const
  await announce(credit({ ...payer, remittance: whole.remittance }, { bankReference: '7' }))
  const short = { remittance: { unstructured: [text.slice(0, 35)] } }
  // A vague entry of another amount, and the announced entry under another reference.
  await list(
    '2026-01-08',
    credit({ references: {} }, { bankReference: '7', ...other }),
    credit({ references: {}, debtor: ada, ...short }, { bankReference: 'L7' }),
  )
  assert.equal(await posted(), 19_00n)
  // The same amount twice: the vague entry comes before the announced one.
  const [on, at] = ['2026-01-09', { bookingDate: '2026-01-09', bankReference: '8' }]
  await announce(credit({ ...payer, remittance: whole.remittance }, at))
  await list(on, credit({ references: {} }, at), credit({ ...payer, ...short }, at))
  assert.equal(await posted(), 39_00n)
  const [{ remittance } = { remittance: null }] = await service.db.rows<{ remittance: string | null }>(
    sql`select remittance from rails.iso_entries where announced = 0 and booked_on = '2026-01-09'`,
  )
  assert.equal(remittance, null, 'the entry without a text is the new one')
  assert.deepEqual(await kindsOfCases(), [])
})

for (const order of ['announced first', 'listed first'] as const)
  test(`a credit whose entry was matched with another credit on an earlier day waits for two people, ${order}`, async () => {
    const payer = { references: {}, debtor: ada, debtorAccount: adaAccount }
    const invoice = (number: string) => ({ remittance: { unstructured: [`Invoice ${number}, customer 4711`] } })
    const one = credit({ ...payer, ...invoice('1001') }, { bankReference: 'N1' })
    const other = credit({ ...payer, ...invoice('1002') }, { bankReference: 'N2' })
    // The first credit is vague and may be either entry. The second credit is the one that the first was matched with.
    const short = credit(payer, { bankReference: 'L1' })
    const named = (number: string) => credit({ references: {}, ...invoice(number) }, { bankReference: 'L2' })
    if (order === 'announced first') {
      await announce(one, other)
      await list('2026-01-08', short)
      const [taken] = await service.db.rows<{ remittance: string }>(
        sql`select remittance from rails.iso_entries where statement_id is not null`,
      )
      await list('2026-01-09', named(taken?.remittance.includes('1001') ? '1001' : '1002'))
    } else {
      await list('2026-01-08', short, named('1001'))
      await announce(one)
      const little = sql`select 1 from rails.iso_entries where announced <> 0 and remittance is null`
      assert.equal((await service.db.rows(little)).length, 1)
      await announce(other)
    }
    assert.equal(await posted(), 20_00n)
    const kinds = (await kindsOfCases()).filter(([kind]) => kind !== 'announced_missing')
    assert.deepEqual(kinds, [['unknown_payment', 10_00n]])
  })

test('a case about an announced entry closes when a later statement contains the entry', async () => {
  await announce(credit(whole))
  await list('2026-01-08', credit({ references: { endToEndId: 'E2E-2' } }))
  assert.deepEqual(await kindsOfCases(), [['announced_missing', null]])
  await list('2026-01-09', credit(whole, { bookingDate: '2026-01-09' }))
  service.clock.advance(2 * minuteMs)
  await service.reconciliation.step()
  assert.deepEqual(await service.db.rows(sql`select resolution from cases.cases`), [{ resolution: 'gone' }])
  assert.equal(await posted(), 20_00n)
})

test('an entry announced after the statement of its day is matched with another statement of that day', async () => {
  await list('2026-01-08')
  service.clock.advance(minuteMs)
  await announce(credit(whole))
  assert.deepEqual(await kindsOfCases(), [])
  service.clock.advance(minuteMs)
  await list('2026-01-09')
  assert.deepEqual(await kindsOfCases(), [['announced_missing', null]])
})

test('a Saturday entry may be on the statement of Monday, and no case opens before then', async () => {
  await announce(credit(whole, { bookingDate: '2026-01-10' }))
  await list('2026-01-09', credit({ references: { endToEndId: 'E2E-2' } }, { bookingDate: '2026-01-09' }))
  assert.deepEqual(await kindsOfCases(), [])
  await list('2026-01-12')
  assert.deepEqual(await kindsOfCases(), [['announced_missing', null]])
})

test('a reference that a bank reuses on the next day belongs to a new booking', async () => {
  await announce(credit({ references: {} }, { bankReference: '1' }))
  await announce(credit({ references: {} }, { bankReference: '1', bookingDate: '2026-01-09' }))
  assert.equal(await posted(), 20_00n)
  await list('2026-01-08', credit({ references: {} }, { bankReference: '1' }))
  await list('2026-01-09', credit({ references: {} }, { bankReference: '1', bookingDate: '2026-01-09' }))
  assert.equal(await posted(), 20_00n)
  assert.deepEqual(await kindsOfCases(), [])
})

test('if a bank uses a reference twice on a day, the second entry waits for two people', async () => {
  await announce(credit({ references: { endToEndId: 'A' } }, { bankReference: '1' }))
  await announce(credit({ references: { endToEndId: 'B' } }, { bankReference: '1' }))
  await announce(credit({ references: { endToEndId: 'B' } }, { bankReference: '1' }))
  assert.equal(await posted(), 10_00n)
  assert.deepEqual(await kindsOfCases(), [['unknown_payment', 10_00n]])
})

test('entries stored by the previous version, whose keys have no day, are recognised', async () => {
  const [one, two] = [credit(whole, { bankReference: 'A' }), credit({ references: {} }, { bankReference: 'B' })]
  await announce(one, two)
  await service.db.run(
    sql`update rails.iso_entries set entry_key = replace(entry_key, '@2026-01-08', ''), announced = 0`,
  )
  const keys = await service.db.rows(sql`select entry_key from rails.iso_entries order by 1`)
  assert.deepEqual(keys, [{ entryKey: 'r:A|+|1000|1' }, { entryKey: 'r:B|+|1000|1' }])
  await announce(one, two)
  await list('2026-01-08', credit(whole, { bankReference: 'L' }), two)
  assert.equal(await posted(), 20_00n)
  assert.deepEqual(await kindsOfCases(), [])
  // The next day of a bank that numbers entries by day.
  await announce(credit({ references: {} }, { bankReference: 'B', bookingDate: '2026-01-09' }))
  assert.equal(await posted(), 30_00n)
})

test('a debit reported in different words is booked exactly once', async () => {
  const debit = (references: EntryDetail['references'], bankReference: string) =>
    entryOf(-7_00n, { bankReference, bookingDate: '2026-01-08', details: [{ references, creditor: ada }] })
  await announce(debit({ endToEndId: 'X' }, 'N1'))
  await list('2026-01-08', debit({ endToEndId: 'X' }, 'ASR1'))
  assert.deepEqual(await kindsOfCases(), [['unknown_debit', -7_00n]])
})

test('a page of a thousand reworded entries takes as many SQL statements as one entry', async () => {
  const many = (bankReference: string) =>
    Array.from({ length: 900 }, (_none, index) =>
      credit({ references: { endToEndId: `E${index}` } }, { bankReference: `${bankReference}${index}` }),
    )
  await announce(...many('N'))
  await list('2026-01-08', ...many('L'))
  assert.equal(await posted(), 9_000_00n)
  assert.deepEqual(
    await service.db.rows(sql`select count(*) as count from rails.iso_entries where statement_id is not null`),
    [{ count: 900n }],
  )
})
