import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { Unreachable } from '../../kernel/api/index.ts'
import { recallAnswerXml } from '../../iso20022/index.ts'
import { newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { submitDuePayouts } from '../settlement/index.ts'
import type { Transport } from './deps.ts'
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

const states = async () =>
  (await service.db.rows<{ state: string }>(sql`select state from rails.iso_messages order by received_at, id`)).map(
    ({ state }) => state,
  )

test('a copy that was cut goes on behind what it has', async () => {
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

test('a bank that does not answer leaves everything as it was', async () => {
  const away = (transport: Transport): Transport => ({
    ...transport,
    list: () => Promise.reject(new Unreachable('downstream_timeout', 'the bank does not answer')),
  })
  await folders.put('a.xml', reportXml([entryOf(1n)]))
  await assert.rejects(createIncomingBank(service, folders, { wrapTransport: away }).incoming.step(), Unreachable)
  // The lease was given back: another process goes on at once.
  await createIncomingBank(service, folders).work()
  assert.deepEqual(await states(), ['Taken'])
})

test('a disk that takes no copy loses no file', async () => {
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

test('a disk that takes no archive keeps the file at the bank, and it counts once', async () => {
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

/** A payout that the bank has, and a request to take it back. */
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

test('an answer to a recall stands beside it, and the money comes as a return', async () => {
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

test('a refused recall is refused, and an answer to an unknown one is a case', async () => {
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
