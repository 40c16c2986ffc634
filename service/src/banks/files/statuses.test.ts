/** Words of the bank that contradict each other, come twice, or are about files of others. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { TransferStatus } from '../../iso20022/index.ts'
import { sql } from '../../postgres/index.ts'
import { submitDuePayouts } from '../settlement/index.ts'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  entryOf,
  markFiled,
  reportXml,
  statusXml,
} from '../../../../test/support/iso-incoming.ts'

let service: Service
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
let partner: TestPartner
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => 'iso20022' })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
  partner = await addPartner(service, 1_000_00n)
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

/** Payouts of these amounts in a file that the bank has: the ids that the bank knows. */
async function sent(...amounts: readonly string[]) {
  const ids: string[] = []
  for (const amount of amounts) ids.push((await pay(service, partner, amount)).payout.endToEndId)
  await submitDuePayouts(bank.settlement)
  return { ...(await markFiled(service)), ids }
}
type File = Awaited<ReturnType<typeof sent>>

let files = 0
const status = async ({ messageId }: Pick<File, 'messageId'>, more: Parameters<typeof statusXml>[1]) => {
  await folders.put(`status-${(files += 1)}.xml`, statusXml(messageId, more))
  await bank.work()
}
const transfers = (file: Pick<File, 'messageId' | 'batchId'>, ...list: readonly TransferStatus[]) =>
  status(file, { batches: [{ batchId: file.batchId, reasons: [], transfers: list }] })
const because = (code: string) => [{ code, texts: [] }]
const payouts = async () =>
  (await service.db.rows<{ status: string }>(sql`select status from payouts.payouts order by amount, id`)).map(
    (row) => row.status,
  )
const kinds = async () => (await casesOf(service)).map(({ kind }) => kind)
const bankStatus = async ({ fileId }: Pick<File, 'fileId'>) =>
  (await service.db.row<{ bankStatus: string }>(sql`select bank_status from rails.iso_files where id = ${fileId}`))
    ?.bankStatus

for (const accepted of ['RCVD', 'ACTC', 'ACCP', 'ACSP'])
  test(`a file that was answered ${accepted} does not fail by its repetition`, async () => {
    const file = await sent('10.00', '11.00')
    await status(file, { groupStatus: accepted })
    for (const code of ['DU01', 'DU02', 'AM05']) await status(file, { groupStatus: 'RJCT', reasons: because(code) })
    const batch = { batchId: file.batchId, status: 'RJCT', reasons: because('DU02'), transfers: [] }
    await status(file, { groupStatus: 'PART', batches: [batch] })
    const inherited = {
      batchId: file.batchId,
      reasons: [],
      transfers: file.ids.map((instructionId) => ({ instructionId, reasons: [] })),
    }
    await status(file, { groupStatus: 'RJCT', reasons: because('DU01'), batches: [inherited] })
    assert.deepEqual([await payouts(), await kinds()], [['Processing', 'Processing'], []])
    // The bank executes what it has accepted.
    const debits = file.ids.map((id, at) =>
      entryOf(at === 0 ? -10_00n : -11_00n, { details: [{ references: { instructionId: id, endToEndId: id } }] }),
    )
    await folders.put('report.xml', reportXml(debits))
    await bank.work()
    assert.deepEqual([await payouts(), await kinds()], [['Completed', 'Completed'], []])
  })

test('a file whose only answer is that the bank has it already is a case, and no money is released', async () => {
  const file = await sent('10.00')
  await status(file, { groupStatus: 'RJCT', reasons: because('DU01') })
  assert.deepEqual([await payouts(), await kinds(), await bankStatus(file)], [['Processing'], ['file_refused'], null])
  assert.match((await casesOf(service))[0]?.details ?? '', /has it already: DU01/)
  await status(file, { groupStatus: 'ACSC' })
  assert.deepEqual([await payouts(), await bankStatus(file)], [['Completed'], 'ACSC'])
})

test('a payment that is refused as a duplicate waits with a case; a repetition of an accepted one does not', async () => {
  const file = await sent('10.00', '11.00', '12.00')
  const [first, second, third] = file.ids.map((instructionId) => ({ instructionId, status: 'RJCT' }))
  assert.ok(first && second && third)
  await transfers(file, { ...second, status: 'ACSP', reasons: [] }, { ...third, status: 'ACCP', reasons: [] })
  await transfers(
    file,
    { ...first, reasons: because('DU05') },
    { ...second, reasons: because('DU05') },
    { ...third, reasons: because('AM05') },
  )
  assert.deepEqual(await payouts(), ['Processing', 'Processing', 'Processing'])
  assert.deepEqual(await kinds(), ['payment_missing', 'payment_missing'])
  // Another reason is the word that they will not be executed.
  await transfers(file, { ...first, reasons: because('AC04') })
  assert.deepEqual(await payouts(), ['Failed', 'Processing', 'Processing'])
})

test('an instant payment that is refused as a duplicate does not go again', async () => {
  const file = await sent('10.00')
  await service.db.run(sql`update rails.iso_instructions set scheme_applied = 'Instant', scheme_requested = 'Instant'`)
  await transfers(file, { instructionId: file.ids[0] ?? '', status: 'RJCT', reasons: because('AM05') })
  const row = await service.db.row<{ status: string }>(sql`select status from rails.iso_instructions`)
  assert.equal(row?.status, 'Filed')
})

test('what is said of a batch is not overruled by what is said of its file', async () => {
  const file = await sent('10.00')
  const batch = { batchId: file.batchId, status: 'RJCT', reasons: because('AM04'), transfers: [] }
  await status(file, { groupStatus: 'ACSC', batches: [batch] })
  assert.deepEqual([await payouts(), await kinds()], [['Failed'], []])
})

test('an end-to-end id counts only in an answer to a file of ours, and only for one payment of it', async () => {
  const file = await sent('10.00', '10.00')
  await service.db.run(sql`update rails.iso_instructions set end_to_end_id = 'INVOICE-1'`)
  for (const word of ['RJCT', 'ACSC'])
    await transfers({ messageId: 'OTHER', batchId: 'B' }, { endToEndId: 'INVOICE-1', status: word, reasons: [] })
  assert.deepEqual([await payouts(), await kinds()], [['Processing', 'Processing'], ['entry_unclear']])
  await transfers(file, { endToEndId: 'INVOICE-1', status: 'RJCT', reasons: because('AC04') })
  assert.deepEqual(
    [await payouts(), await kinds()],
    [
      ['Processing', 'Processing'],
      ['entry_unclear', 'entry_unclear'],
    ],
  )
})
