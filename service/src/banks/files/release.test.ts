/** Files that were quarantined and are taken after all, by a decision of people. */
import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { sql } from '../../postgres/index.ts'
import { addPartner, balanceOf, createTestService, type Service } from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  entryOf,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'

let service: Service
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => 'iso20022' })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

async function owner() {
  const partner = await addPartner(service)
  const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
  const credit = (minor: bigint, endToEndId: string) => {
    const references = { endToEndId }
    return entryOf(minor, {
      details: [{ references, creditorAccount: { iban: ibans[0].iban }, debtor: { name: 'Ada' } }],
    })
  }
  return { credit, posted: async () => (await balanceOf(service, partner.partnerId)).posted }
}
const aside = async () => {
  const [row] = await service.db.rows<{ id: string }>(sql`select id from rails.iso_messages where state = 'Aside'`)
  assert.ok(row)
  return row.id
}
const release = (id: string) => service.db.transaction((tx) => service.isoBanks.releaseFile(tx, id))

test('a message of a bank that has used its id again is taken once, also after a restart in the middle', async () => {
  const { credit, posted } = await owner()
  const known = credit(7n, 'E1')
  await folders.put('a.xml', reportXml([known], { messageId: 'M1' }))
  await bank.work()
  await folders.put('b.xml', reportXml([known, credit(9n, 'E2')], { messageId: 'M1' }))
  await bank.work()
  assert.equal(await posted(), 7n)
  const id = await aside()
  const released = await Promise.allSettled([release(id), release(id)])
  assert.deepEqual(released.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  await bank.work()
  assert.equal(await posted(), 16n, 'the entry that was known counts once')
  // As after a kill before the file was marked as taken.
  await service.db.run(sql`update rails.iso_messages set taken_at = null where id = ${id}`)
  await bank.work()
  assert.equal(await posted(), 16n)
  const rows = await service.db.rows<{ state: string; messageId: string }>(
    sql`select state, message_id from rails.iso_messages order by state, message_id`,
  )
  assert.deepEqual(
    rows.map(({ state, messageId }) => [state, messageId.replace(/ [0-9a-f]{12}$/, ' HASH')]),
    [
      ['Aside', 'M1'],
      ['Taken', 'M1'],
      ['Taken', 'M1 HASH'],
    ],
  )
  // The same bytes, when the bank sends them again, are a repetition.
  await folders.put('c.xml', reportXml([known, credit(9n, 'E2')], { messageId: 'M1' }))
  await bank.work()
  assert.equal(await posted(), 16n)
  assert.deepEqual(await readdir(join(folders.archive, 'incoming')), [])
})

test('a file whose sums differ is taken as its entries say', async () => {
  const { credit, posted } = await owner()
  const wrong = { kind: 'camt.053', opening: 0n, closing: 6n } as const
  await folders.put('a.xml', reportXml([credit(5n, 'E1')], wrong))
  await bank.work()
  assert.equal(await posted(), 0n)
  assert.deepEqual(
    (await casesOf(service)).map(({ kind }) => kind),
    ['sum_differs'],
  )
  await release(await aside())
  await bank.work()
  assert.equal(await posted(), 5n)
})

test('a file of which no entry can be read is taken by a decision, and each of its entries waits', async () => {
  const { credit, posted } = await owner()
  const text = reportXml([credit(5n, 'E1'), credit(7n, 'E2')]).replaceAll(
    '<EndToEndId>',
    '<EndToEndId>E</EndToEndId>$&',
  )
  await folders.put('a.xml', text)
  await bank.work()
  assert.deepEqual(
    (await casesOf(service)).map(({ kind }) => kind),
    ['file_unreadable'],
  )
  await release(await aside())
  await bank.work()
  const rows = () => service.db.rows(sql`select kind, amount from rails.iso_entries order by amount`)
  assert.deepEqual(await rows(), [
    { kind: 'waiting', amount: 5n },
    { kind: 'waiting', amount: 7n },
  ])
  assert.equal(await posted(), 0n)
  // The bank corrects its form: the payments of the same references count instead, once.
  await folders.put('b.xml', text.replaceAll('<EndToEndId>E</EndToEndId>', '').replaceAll(/<MsgId>\w+/g, '<MsgId>B'))
  await bank.work()
  assert.equal(await posted(), 12n)
  assert.deepEqual(await rows(), [
    { kind: 'credit', amount: 5n },
    { kind: 'credit', amount: 7n },
  ])
})

test('a file that is not in the archive is another case, and what was not read is not released', async () => {
  const { credit } = await owner()
  const wrong = { kind: 'camt.053', opening: 0n, closing: 6n } as const
  await folders.put('a.xml', reportXml([credit(5n, 'E1')], wrong))
  await bank.work()
  const id = await aside()
  await rm(join(folders.archive, 'aside'), { recursive: true })
  await release(id)
  await bank.work()
  await bank.work()
  const [, opened, ...more] = await casesOf(service)
  assert.deepEqual([opened?.kind, more], ['file_unreadable', []])
  assert.match(opened?.details ?? '', /a\.xml was released and cannot be taken: the archive does not have it/)
  await folders.put('garbage.xml', 'not a message')
  await bank.work()
  const [garbage] = await service.db.rows<{ id: string }>(
    sql`select id from rails.iso_messages where state = 'Aside' and kind is null`,
  )
  await assert.rejects(release(garbage?.id ?? ''), { code: 'not_found' })
})
