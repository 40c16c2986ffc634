/** Messages of the bank, and failures while they are read. */
import assert from 'node:assert/strict'
import { mkdir, readdir, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { hourMs, minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { addPartner, balanceOf, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  entryOf,
  markFiled,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'
import { Unreachable } from '../../kernel/api/index.ts'
import { recallAnswerXml } from '../../iso20022/index.ts'
import { submitDuePayouts } from '../settlement/index.ts'
import type { Transport } from './deps.ts'

let service: Service
let folders: BankFolders
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => 'iso20022' })
  folders = await createBankFolders()
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

/** A partner with an account, and bookings on it. */
async function owner() {
  const partner = await addPartner(service)
  const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
  const iban = ibans[0].iban
  const credit = (minor: bigint, endToEndId = 'E1') =>
    entryOf(minor, { details: [{ references: { endToEndId }, creditorAccount: { iban }, debtor: { name: 'Ada' } }] })
  return { credit, iban, posted: async () => (await balanceOf(service, partner.partnerId)).posted }
}

const messages = () =>
  service.db.rows<{ state: string; kind: string | null; fileName: string; problem: string | null }>(
    sql`select state, kind, file_name, problem from rails.iso_messages order by received_at, id`,
  )
const statesOf = async () => (await messages()).map(({ state }) => state)

test('a booking counts exactly once, whichever messages report it', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const entry = credit(12_34n)
  await folders.put('a.xml', reportXml([entry]))
  await bank.work()
  assert.equal(await posted(), 12_34n)
  await folders.put('b.xml', reportXml([entry], { kind: 'camt.052' }))
  await folders.put('c.xml', reportXml([entry], { kind: 'camt.053', version: '02', opening: 0n, closing: 12_34n }))
  await bank.work()
  assert.equal(await posted(), 12_34n)
  assert.deepEqual(await folders.left(), [])
  const [row] = await service.db.rows(sql`select status, statement_id is not null as linked from rails.iso_entries`)
  assert.deepEqual(row, { status: 'Applied', linked: true })
  assert.deepEqual(await casesOf(service), [])
  const archived = await readdir(join(folders.archive, 'taken', '2026-01-01'))
  assert.equal(archived.length, 3)
  assert.deepEqual(await readdir(join(folders.archive, 'incoming')), [])
})

test('equal bookings of one message all count, and a repetition counts none of them again', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const { bankReference: _none, ...entry } = credit(5n)
  const three = [entry, entry, entry]
  await folders.put('a.xml', reportXml([entry, entry]))
  await bank.work()
  assert.equal(await posted(), 10n)
  await folders.put('b.xml', reportXml(three, { kind: 'camt.053', opening: 0n, closing: 15n }))
  await bank.work()
  assert.equal(await posted(), 15n)
})

test('the same bytes are read once, even under another name', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const text = reportXml([credit(7n)])
  await folders.put('a.xml', text)
  await folders.put('b.xml', text)
  await bank.work()
  await folders.put('a.xml', text)
  await bank.work()
  assert.equal(await posted(), 7n)
  assert.deepEqual((await statesOf()).toSorted(), ['Repeated', 'Repeated', 'Taken'])
  assert.deepEqual(await folders.left(), [])
  assert.deepEqual(await casesOf(service), [])
})

test('a known message id with different contents is quarantined with a case', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  await folders.put('a.xml', reportXml([credit(7n)], { messageId: 'M1' }))
  await bank.work()
  await folders.put('b.xml', reportXml([credit(9n)], { messageId: 'M1' }))
  await bank.work()
  assert.equal(await posted(), 7n)
  assert.deepEqual(await statesOf(), ['Taken', 'Aside'])
  const [opened, ...others] = await casesOf(service)
  assert.deepEqual([opened?.kind, others.length], ['message_differs', 0])
  assert.match(opened?.details ?? '', /b\.xml.*M1 was already processed from the file a\.xml/)
  assert.equal((await readdir(join(folders.archive, 'aside', '2026-01-01'))).length, 1)
})

const whole = () => reportXml([entryOf(1n)])
const twice = () => reportXml([entryOf(1n), entryOf(1n)])
const unreadable: readonly (readonly [title: string, contents: () => string | Uint8Array, details: RegExp])[] = [
  ['garbage', () => 'not a message', /not a known ISO 20022 message/],
  ['a file of zeros', () => new Uint8Array(5000), /not a known ISO 20022 message/],
  ['a document type', () => whole().replace('<Document', '<!DOCTYPE a [<!ENTITY b "c">]><Document'), /doctype/],
  [
    'an unknown message',
    () => '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.060.001.05"/>',
    /not a known ISO 20022 message/,
  ],
  [
    'a message that we sent',
    () => '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn/></Document>',
    /which banks receive and do not send/,
  ],
  [
    'entries that are all unreadable',
    () => twice().replaceAll('>0.01<', '>0,01<'),
    /2 of its 2 entries.*line \d+, Document/,
  ],
  ['a wrong encoding', () => Buffer.from(whole().replace('<MsgId>', '<MsgId>\u00fc'), 'latin1'), /encoding/],
  ['an account of someone else', () => reportXml([entryOf(1n)], { iban: 'DE89370400440532013000' }), /not configured/],
]
for (const [title, contents, details] of unreadable)
  test(`${title} is quarantined with a case`, async () => {
    const bank = createIncomingBank(service, folders)
    const bytes = contents()
    await folders.put('x.xml', bytes)
    await bank.work()
    assert.deepEqual(await folders.left(), [])
    assert.deepEqual(await statesOf(), ['Aside'])
    const [opened, ...others] = await casesOf(service)
    assert.deepEqual([opened?.kind, opened?.booked, others.length], ['file_unreadable', null, 0])
    assert.match(opened?.details ?? '', details)
    // The repeated file belongs to the same case.
    await folders.put('x.xml', bytes)
    await bank.work()
    assert.equal((await casesOf(service)).length, 1)
  })

test('a statement whose sums do not add up is quarantined with a case and does not count', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  await folders.put('a.xml', reportXml([credit(7n)], { kind: 'camt.053', opening: 1_00n, closing: 1_08n }))
  await bank.work()
  assert.equal(await posted(), 0n)
  const [opened] = await casesOf(service)
  assert.equal(opened?.kind, 'sum_differs')
  assert.match(
    opened?.details ?? '',
    /opening balance 1\.00 and the entries 0\.07 are 1\.07, and the closing balance is 1\.08/,
  )
})

test('an incomplete file waits until it has not grown for too long', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const text = reportXml([credit(7n)])
  await writeFile(join(folders.fromBank, 'a.xml'), text.slice(0, 300))
  await writeFile(join(folders.fromBank, 'b.xml'), '')
  await bank.work()
  service.clock.advance(9 * minuteMs)
  await bank.work()
  assert.deepEqual(await statesOf(), [])
  await writeFile(join(folders.fromBank, 'a.xml'), text)
  await bank.work()
  assert.equal(await posted(), 7n)
  assert.deepEqual(await folders.left(), ['b.xml'])
  service.clock.advance(2 * minuteMs)
  await bank.work()
  assert.deepEqual(await statesOf(), ['Taken', 'Aside'])
  const [opened] = await casesOf(service)
  assert.equal(opened?.kind, 'file_unreadable')
})

test('an oversized file is reported once and not copied', async () => {
  const bank = createIncomingBank(service, folders, { messageBytesMax: 1 << 20 })
  const path = join(folders.fromBank, 'large.xml')
  await writeFile(path, '<Document')
  await truncate(path, 10 * 2 ** 30)
  await bank.work()
  await createIncomingBank(service, folders, { messageBytesMax: 1 << 20 }).work()
  assert.deepEqual(await folders.left(), ['large.xml'])
  assert.deepEqual(await statesOf(), ['Aside'])
  const opened = await casesOf(service)
  assert.equal(opened.length, 1)
  assert.match(opened[0]?.details ?? '', /10737418240 bytes/)
})

test('folders, links and unusual file names are ignored', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  await mkdir(join(folders.fromBank, 'folder.xml'))
  await writeFile(join(folders.archive, 'secret.xml'), reportXml([credit(1_000n)]))
  await symlink(join(folders.archive, 'secret.xml'), join(folders.fromBank, 'link.xml'))
  const names = ['a b.xml', 'ü%2e%2e.xml', 'q\'uo"te.xml', 'nül-\u202e.xml', `${'n'.repeat(200)}.xml`]
  for (const name of names) await folders.put(name, reportXml([credit(1n, name)]))
  await bank.work()
  assert.equal(await posted(), BigInt(names.length))
  assert.deepEqual((await folders.left()).toSorted(), ['folder.xml', 'link.xml'])
})

test('a batch sum waits for its payments, which replace it', async () => {
  const { credit, posted, iban } = await owner()
  const bank = createIncomingBank(service, folders)
  const sum = entryOf(30n, { details: [], bankReference: 'BATCH1', batches: [{ count: 2 }] })
  await folders.put('a.xml', reportXml([sum], { kind: 'camt.053', opening: 0n, closing: 30n }))
  await bank.work()
  assert.equal(await posted(), 0n)
  const details = [10n, 20n].map((minor) => ({
    references: {},
    amount: { currency: 'EUR', minor } as const,
    creditorAccount: { iban },
  }))
  await folders.put('b.xml', reportXml([{ ...sum, details: details.map((one) => ({ ...one, charges: [] })) }]))
  await bank.work()
  assert.equal(await posted(), 30n)
  const rows = await service.db.rows(sql`
    select amount, statement_id is not null as linked, kind, status from rails.iso_entries order by amount`)
  const applied = { linked: true, kind: 'credit', status: 'Applied' }
  assert.deepEqual(rows, [
    { amount: 10n, ...applied },
    { amount: 20n, ...applied },
  ])
  // The sum is repeated without its payments.
  await folders.put('c.xml', reportXml([sum, credit(1n)], { kind: 'camt.052' }))
  await bank.work()
  assert.equal(await posted(), 31n)
  assert.deepEqual(await casesOf(service), [])
})

test('a batch sum that no message details goes to suspense, and its late payments do not count', async () => {
  const { posted, iban } = await owner()
  const bank = createIncomingBank(service, folders)
  const sum = entryOf(30n, { details: [], bankReference: 'BATCH2', batches: [{ count: 2 }] })
  await folders.put('a.xml', reportXml([sum]))
  await bank.work()
  service.clock.advance(2 * hourMs)
  await bank.work()
  assert.deepEqual(
    (await casesOf(service)).map(({ kind, booked }) => ({ kind, booked })),
    [{ kind: 'unknown_payment', booked: 30n }],
  )
  const detail = {
    references: {},
    charges: [],
    amount: { currency: 'EUR', minor: 15n } as const,
    creditorAccount: { iban },
  }
  await folders.put('b.xml', reportXml([{ ...sum, details: [detail, detail] }]))
  await bank.work()
  assert.equal(await posted(), 0n)
  assert.deepEqual((await casesOf(service)).map(({ kind }) => kind).toSorted(), ['entry_unclear', 'unknown_payment'])
})

test('a statement amount that differs from the announced one is corrected through suspense', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const entry = credit(1_00n)
  await folders.put('a.xml', reportXml([entry]))
  await bank.work()
  const booked = { ...entry, amount: { currency: 'EUR', minor: 90n } as const }
  await folders.put('b.xml', reportXml([booked], { kind: 'camt.053', opening: 0n, closing: 90n }))
  await bank.work()
  assert.equal(await posted(), 1_00n)
  const [opened] = await casesOf(service)
  assert.deepEqual([opened?.kind, opened?.booked], ['unknown_debit', -10n])
  const [sum] = await service.db.rows(sql`
    select sum(amount)::bigint as sum, bool_and(statement_id is not null) as linked from rails.iso_entries`)
  assert.deepEqual(sum, { sum: 90n, linked: true })
})

test('an entry in another currency opens a case; the other entries of its message count', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const foreign = { ...entryOf(5n), amount: { currency: 'CHF', minor: null, text: '5.00' } as const }
  await folders.put('a.xml', reportXml([foreign, credit(7n)]))
  await bank.work()
  assert.equal(await posted(), 7n)
  assert.deepEqual(
    (await casesOf(service)).map(({ kind }) => kind),
    ['foreign_currency'],
  )
})

test('entries that are not booked do not count', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  await folders.put(
    'a.xml',
    reportXml([
      { ...credit(5n), status: 'PDNG' },
      { ...credit(6n), status: 'INFO' },
    ]),
  )
  await bank.work()
  assert.equal(await posted(), 0n)
  assert.deepEqual(await service.db.rows(sql`select id from rails.iso_entries`), [])
})

test('two processes read each file exactly once', async () => {
  const { credit, posted } = await owner()
  const banks = [createIncomingBank(service, folders), createIncomingBank(service, folders)]
  for (let index = 0; index < 20; index += 1) await folders.put(`${index}.xml`, reportXml([credit(1n, `E${index}`)]))
  for (let round = 0; round < 20; round += 1) await Promise.all(banks.map(({ incoming }) => incoming.step()))
  await banks[0]?.work()
  assert.equal(await posted(), 20n)
  assert.deepEqual(new Set(await statesOf()), new Set(['Taken']))
  assert.equal((await messages()).length, 20)
})

test('a message of several pages is read completely', async () => {
  const { credit, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const entries = Array.from({ length: 2500 }, (_none, index) => credit(1n, `E${index}`))
  await folders.put('a.xml', reportXml(entries, { kind: 'camt.053', opening: 0n, closing: 2500n }))
  await bank.work()
  assert.equal(await posted(), 2500n)
})

test('a deposit has the ultimate debtor of its credit and the identification of the payer', async () => {
  const { iban, posted } = await owner()
  const bank = createIncomingBank(service, folders)
  const detail = {
    creditorAccount: { iban },
    debtor: {
      ...{ name: 'Example Payments Ltd', address: { street: 'High Street', town: 'London', country: 'GB' } },
      id: { kind: 'private', birth: { date: '1990-12-31', city: 'London', country: 'GB' }, others: [{ id: 'T22' }] },
    },
    debtorAccount: { iban: 'GB29NWBK60161331926819' },
    debtorAgent: { bic: 'NWBKGB2L' },
  } as const
  const ultimate = { ultimateDebtor: { name: 'Grace Hopper' } }
  const one = entryOf(5_000_00n, { details: [{ ...detail, ...ultimate, references: { endToEndId: 'E1' } }] })
  // The payer itself is named twice.
  const same = { ultimateDebtor: { name: detail.debtor.name } }
  const other = entryOf(7_00n, { details: [{ ...detail, ...same, references: { endToEndId: 'E2' } }] })
  await folders.put('a.xml', reportXml([one, other]))
  await bank.work()
  assert.equal(await posted(), 5_007_00n)
  const rows = await service.db.rows<{ readonly debtor: string }>(
    sql`select debtor from deposits.deposits order by amount`,
  )
  const debtor = {
    ...{ account: 'GB29NWBK60161331926819', bic: 'NWBKGB2L', name: 'Example Payments Ltd', countryCode: 'GB' },
    ...{ address: 'High Street, London, GB', identification: 'born 1990-12-31 in London, GB, T22' },
  }
  assert.deepEqual(
    rows.map((row) => JSON.parse(row.debtor) as unknown),
    [debtor, { ...debtor, onBehalfOf: 'Grace Hopper' }],
  )
  const lacking = await service.db.row<{ readonly count: bigint }>(
    sql`select count(*) as count from deposits.payer_checks`,
  )
  assert.equal(lacking?.count, 0n)
})

const states = async () =>
  (await service.db.rows<{ state: string }>(sql`select state from rails.iso_messages order by received_at, id`)).map(
    ({ state }) => state,
  )

test('an interrupted copy continues where it stopped', async () => {
  const offsets: number[] = []
  const cut = (transport: Transport): Transport => ({
    ...transport,
    read: async function* read(name, offset, signal) {
      offsets.push(offset)
      for await (const chunk of transport.read(name, offset, signal)) {
        if (offset > 0) yield chunk
        else {
          yield chunk.subarray(0, 200)
          throw new Unreachable('downstream_unreachable', 'the connection is cut')
        }
      }
    },
  })
  const bank = createIncomingBank(service, folders, { wrapTransport: cut })
  await folders.put('a.xml', reportXml([entryOf(1n)]))
  assert.equal(await bank.incoming.step(), 0)
  assert.deepEqual(await states(), [])
  await bank.work()
  assert.deepEqual([offsets, await states()], [[0, 200], ['Taken']])
})

test('nothing changes if the bank is unreachable', async () => {
  const away = (transport: Transport): Transport => ({
    ...transport,
    list: () => Promise.reject(new Unreachable('downstream_timeout', 'the bank does not answer')),
  })
  await folders.put('a.xml', reportXml([entryOf(1n)]))
  await assert.rejects(createIncomingBank(service, folders, { wrapTransport: away }).incoming.step(), Unreachable)
  // The lease was released: another process continues at once.
  await createIncomingBank(service, folders).work()
  assert.deepEqual(await states(), ['Taken'])
})

test('no file is lost when the disk refuses the copy', async () => {
  const bank = createIncomingBank(service, folders)
  // The folder of copies cannot be made.
  await writeFile(join(folders.archive, 'incoming'), '')
  await folders.put('a.xml', reportXml([entryOf(1n)]))
  assert.equal(await bank.incoming.step(), 0)
  assert.deepEqual([await folders.left(), await states()], [['a.xml'], []])
  await rm(join(folders.archive, 'incoming'))
  await bank.work()
  assert.deepEqual([await folders.left(), await states()], [[], ['Taken']])
})

test('when the archive cannot be written the file remains at the bank and counts exactly once', async () => {
  const bank = createIncomingBank(service, folders)
  await writeFile(join(folders.archive, 'taken'), '')
  await folders.put('a.xml', reportXml([entryOf(1n)]))
  assert.equal(await bank.incoming.step(), 0)
  assert.deepEqual(await folders.left(), ['a.xml'])
  await rm(join(folders.archive, 'taken'))
  await bank.work()
  assert.deepEqual([await folders.left(), await states()], [[], ['Taken']])
  assert.equal((await service.db.rows(sql`select id from rails.iso_entries`)).length, 1)
})

/** A payout at the bank, and a recall of it. */
async function recalled() {
  const partner = await addPartner(service, 100_00n)
  const { payout } = await pay(service, partner, '10.00')
  const bank = createIncomingBank(service, folders)
  await submitDuePayouts(bank.settlement)
  await markFiled(service)
  const [recallId, now] = [newId(), service.clock.now()]
  await service.db.run(sql`
    insert into rails.iso_recalls (partner_id, id, connector, instruction_id, reason, requested_by, status, created_at, updated_at)
    select partner_id, ${recallId}, connector, id, 'DUPL', 'Ada', 'Sent', ${now}, ${now} from rails.iso_instructions`)
  const status = () =>
    service.db.row(sql`select status, answer_code as code, answer_details as details from rails.iso_recalls`)
  const answer = async (
    transfer: { readonly cancellationId?: string; readonly instructionId?: string },
    answered: string,
    code: string,
  ) => {
    const transfers = [{ ...transfer, status: answered, reasons: [{ code, texts: ['told'] }] }]
    const value = {
      messageId: newId().replaceAll('-', ''),
      createdAt: '2026-01-01T12:00:00Z',
      caseId: 'C1',
      confirmation: answered,
      reasons: [],
      transfers,
    }
    await folders.put(`${value.messageId}.xml`, [...recallAnswerXml(value)].join(''))
    await bank.work()
  }
  return { bank, partner, hex: payout.endToEndId, recallHex: recallId.replaceAll('-', ''), status, answer }
}

test('an answer to a recall is stored with it, and the money arrives as a return', async () => {
  const { bank, partner, hex, recallHex, status, answer } = await recalled()
  await answer({ cancellationId: recallHex }, 'PDCR', 'PTNA')
  assert.deepEqual(await status(), { status: 'Pending', code: 'PTNA', details: 'told' })
  await answer({ instructionId: hex }, 'ACCR', 'CUST')
  assert.deepEqual(await status(), { status: 'Accepted', code: 'CUST', details: 'told' })
  const returned = { code: 'FOCR', texts: [] }
  const debit = entryOf(-10_00n, { details: [{ references: { instructionId: hex } }] })
  await folders.put(
    'd.xml',
    reportXml([debit, entryOf(10_00n, { details: [{ references: { endToEndId: hex }, returned }] })]),
  )
  await bank.work()
  assert.deepEqual(await status(), { status: 'Returned', code: 'CUST', details: 'told' })
  assert.equal((await balanceOf(service, partner.partnerId)).posted, 100_00n)
  assert.deepEqual(await casesOf(service), [])
})

test('a recall can be refused, and an answer to an unknown recall opens a case', async () => {
  const { recallHex, status, answer } = await recalled()
  await answer({ cancellationId: newId().replaceAll('-', '') }, 'RJCR', 'LEGL')
  assert.deepEqual(
    (await casesOf(service)).map(({ kind }) => kind),
    ['entry_unclear'],
  )
  assert.deepEqual(await status(), { status: 'Sent', code: null, details: null })
  await answer({ cancellationId: recallHex }, 'RJCR', 'LEGL')
  assert.deepEqual(await status(), { status: 'Refused', code: 'LEGL', details: 'told' })
})
