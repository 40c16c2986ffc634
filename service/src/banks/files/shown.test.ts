/** Files of banks as staff read them: pages, filters, and what was read from each. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { minuteMs } from '../../kernel/index.ts'
import type { BankFile, BankFilesWanted } from '../../rails/index.ts'
import { sql } from '../../postgres/index.ts'
import { submitDuePayouts } from '../settlement/index.ts'
import { addPartner, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  connectorId,
  createBankFolders,
  createIncomingBank,
  entryOf,
  markFiled,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { createShownFiles } from './shown.ts'

const shown = createShownFiles([connectorId], operatorPartnerId)
let service: Service
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => connectorId })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

async function take(name: string, text: string) {
  await folders.put(name, text)
  await bank.work()
}

/** All pages of two rows. */
async function all(wanted: Partial<BankFilesWanted> = {}): Promise<readonly BankFile[]> {
  const files: BankFile[] = []
  for (let after: BankFile | undefined; ;) {
    const rows = await shown.page(service.db, { connector: undefined, show: 'all', rowsMax: 2, ...wanted, after })
    files.push(...rows)
    after = rows.at(-1)
    if (rows.length < 2) return files
  }
}
const namesOf = (files: readonly BankFile[]) => files.map(({ name }) => name)

/** Three files at one time, so that pages are cut between equal times, then one later, and one that goes to the bank. */
async function exchange() {
  for (const name of ['a.xml', 'b.xml']) await take(name, reportXml([entryOf(100n)]))
  await take('broken.xml', '<other/>')
  service.clock.advance(minuteMs)
  await take('later.xml', reportXml([entryOf(300n)]))
  service.clock.advance(minuteMs)
  const partner = await addPartner(service, 10_000n)
  await pay(service, partner, '12.50')
  await submitDuePayouts(bank.settlement)
  return { partner, ...(await markFiled(service)) }
}

test('pages list files of both directions, newest first, each once, also those of one time', async () => {
  await exchange()
  const names = namesOf(await all())
  assert.deepEqual(names.slice(0, 2), ['file.xml', 'later.xml'])
  assert.deepEqual(names.toSorted(), ['a.xml', 'b.xml', 'broken.xml', 'file.xml', 'later.xml'])
})

test('filters choose the bank and the state', async () => {
  await exchange()
  assert.deepEqual(namesOf(await all({ show: 'aside' })), ['broken.xml'])
  assert.deepEqual(namesOf(await all({ show: 'sent' })), ['file.xml'])
  assert.deepEqual(namesOf(await all({ show: 'unsent' })), [])
  assert.equal((await all({ show: 'received', connector: connectorId })).length, 4)
  assert.deepEqual(namesOf(await all({ connector: 'iso20022-other' })), [])
  const elsewhere = createShownFiles([], operatorPartnerId)
  const wanted = { connector: undefined, show: 'received', after: undefined, rowsMax: 9 } as const
  assert.equal((await elsewhere.page(service.db, wanted)).length, 4, 'files of a bank that is no longer configured')
})

test('a statement has its entries in pages; a notification those that no statement has yet', async () => {
  const announced = entryOf(700n)
  await take('n.xml', reportXml([announced, entryOf(800n)]))
  await take(
    's.xml',
    reportXml([announced, entryOf(100n), entryOf(-30n)], { kind: 'camt.053', opening: 0n, closing: 770n }),
  )
  const files = await all()
  const readOf = async (name: string) => {
    const id = files.find((each) => each.name === name)?.id ?? ''
    const file = await shown.byId(service.db, id)
    const [statement] = await shown.statements(service.db, id, 9)
    assert.ok(file && statement)
    return { file, statement }
  }
  const statement = await readOf('s.xml')
  assert.deepEqual([statement.statement.closing, statement.statement.entries], [770n, 3n])
  const first = await shown.entries(service.db, statement, { after: undefined, rowsMax: 2 })
  const second = await shown.entries(service.db, statement, { after: first[1], rowsMax: 2 })
  assert.deepEqual([...first, ...second].map(({ amount }) => amount).toSorted(), [-30n, 100n, 700n].toSorted())
  const left = await shown.entries(service.db, await readOf('n.xml'), { after: undefined, rowsMax: 9 })
  assert.deepEqual(
    left.map(({ amount, kind, status }) => ({ amount, kind, status })),
    [{ amount: 800n, kind: 'credit', status: 'Applied' }],
  )
})

test('a file to the bank has its payments and counts, and one that is unknown is not found', async () => {
  const { fileId, partner } = await exchange()
  const file = await shown.byId(service.db, fileId)
  assert.deepEqual([file?.direction, file?.state, file?.sent?.payments], ['sent', 'Delivered', 1n])
  const [payment, ...others] = await shown.payments(service.db, fileId, undefined, 9)
  assert.deepEqual(
    [payment?.partnerId, payment?.amount, payment?.status, others],
    [partner.partnerId, 1250n, 'Filed', []],
  )
  assert.deepEqual(await shown.payments(service.db, fileId, payment?.id, 9), [])
  assert.deepEqual(await shown.recalls(service.db, fileId, undefined, 9), [])
  assert.equal(await shown.byId(service.db, partner.partnerId), undefined)
})

test('files are found by their whole name and by the id of their message, the newest first', async () => {
  await exchange()
  const [sent] = await all({ show: 'sent' })
  const ask = async (text: string, rowsMax = 10) => (await shown.named(service.db, text, rowsMax)).map(({ id }) => id)
  const byName = async (name: string) => (await all()).filter((file) => file.name === name).map(({ id }) => id)
  assert.deepEqual(await ask('a.xml'), await byName('a.xml'))
  assert.deepEqual([await ask(sent?.name ?? ''), await ask(sent?.messageId ?? '')], [[sent?.id], [sent?.id]])
  for (const part of ['a.xm', '.xml', 'A.xml', '%']) assert.deepEqual(await ask(part), [], part)
  await service.db.run(sql`update rails.iso_messages set file_name = 'report.xml', message_id = null, state = 'Aside'`)
  const newest = (await all({ show: 'received' })).map(({ id }) => id)
  assert.equal(newest.length, 4)
  assert.deepEqual(await ask('report.xml'), newest)
  assert.equal((await ask('report.xml', 1))[0], newest[0])
})
