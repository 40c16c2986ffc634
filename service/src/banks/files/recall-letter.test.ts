/** Recalls at a bank that takes no files of them: a case, a letter, what people record, and the money. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import {
  addPartner,
  balanceOf,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { casesOf, connectorId, entryOf, reportXml } from '../../../../test/support/iso-incoming.ts'
import { atBank, createFolders, type Folders, openBank, removeFolders } from '../../../../test/support/iso-outgoing.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { newId, secondMs } from '../../kernel/index.ts'
import { instructionIdOf } from '../../payouts/index.ts'
import { processBankNotifications, sendDueRecalls, submitDuePayouts } from '../settlement/index.ts'

let folders: Folders
let service: Service
let partner: TestPartner
let bank: ReturnType<typeof open>
beforeEach(async () => {
  folders = await createFolders()
  const { toBank, fromBank, archive } = folders
  const account = { iban: 'DE89370400440532013000', bic: 'COBADEFFXXX', ownerName: 'Example' }
  const setting = {
    initiator: { name: 'Example Payments' },
    accounts: [{ ...account, ownerAddress: { town: 'Berlin', country: 'DE' } }],
    recalls: 'letter',
    archive,
    transport: { kind: 'folder', toBank, fromBank },
  }
  service = await createTestService({
    now: new Date('2026-01-08T09:00:00Z'),
    chooseConnector: () => connectorId,
    settings: { RAIL: connectorId, ISO20022_BANKS: JSON.stringify([setting]) },
  })
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  partner = await addPartner(service, 100_00n)
  bank = open()
})
afterEach(async () => {
  await service.close()
  await removeFolders(folders)
})

function open() {
  const { connector, steps, work } = openBank(service, folders, { recalls: 'letter' })
  const settlement = { ...service.settlement, connectors: [connector] }
  const heard = async () => {
    while ((await processBankNotifications(settlement)) > 0);
  }
  const take = async (contents: string) => {
    await writeFile(join(folders.fromBank, `${newId()}.xml`), contents)
    while ((await steps.take()) > 0);
    await heard()
  }
  const send = async () => {
    service.clock.advance(15 * secondMs)
    return sendDueRecalls(settlement, connector)
  }
  return { connector, settlement, work, take, send, heard }
}

/** A payout that the bank has booked and its partner recalls. */
async function recalled() {
  const { payout } = await pay(service, partner, '10.00')
  await submitDuePayouts(bank.settlement)
  await bank.work()
  await bank.take(reportXml([entryOf(-10_00n, { details: [{ references: { instructionId: payout.endToEndId } }] })]))
  const recall = await service.recalls.create(partner.caller, payout.id, {
    reason: 'FRAD',
    text: 'The invoice was forged.',
  })
  await bank.send()
  await bank.work()
  await bank.heard()
  return { payout, recall, key: { partnerId: partner.partnerId, id: instructionIdOf(payout) } }
}
const recallOf = async (payoutId: string) => (await service.recalls.list(partner.partnerId, payoutId))[0]

test('a recall opens one case and no file, waits for the letter, and is sent when people say so', async () => {
  const { payout, key } = await recalled()
  const [opened, ...others] = await casesOf(service)
  assert.deepEqual([opened?.kind, others], ['recall_letter', []])
  assert.match(opened?.details ?? '', /FRAD, of the payment/)
  await bank.work()
  await bank.heard()
  assert.equal((await casesOf(service)).length, 1)
  assert.deepEqual(
    (await atBank(folders)).filter(({ name }) => name.startsWith('camt.055')),
    [],
  )
  assert.equal((await recallOf(payout.id))?.status, 'Requested')
  const answered = { ...key, accepted: true, code: null }
  await assert.rejects(
    service.db.transaction((tx) => service.isoBanks.letterAnswered(tx, answered)),
    /The recall is Queued. Only a recall by letter/,
  )
  const sent = await Promise.allSettled(
    [1, 2].map(() => service.db.transaction((tx) => service.isoBanks.letterSent(tx, key))),
  )
  assert.deepEqual(sent.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  await bank.send()
  assert.equal((await recallOf(payout.id))?.status, 'Sent')
})

for (const accepted of [true, false])
  test(`the answer of the bank is ${accepted ? 'yes, and the money comes as a return' : 'no, with its code'}`, async () => {
    const { payout, key } = await recalled()
    await service.db.transaction((tx) => service.isoBanks.letterSent(tx, key))
    await bank.send()
    const answer = { ...key, accepted, code: accepted ? null : 'NOAS' }
    await service.db.transaction((tx) => service.isoBanks.letterAnswered(tx, answer))
    await bank.heard()
    const recall = await recallOf(payout.id)
    assert.deepEqual([recall?.status, recall?.answerCode], accepted ? ['Accepted', null] : ['Refused', 'NOAS'])
    if (!accepted) return
    const before = (await balanceOf(service, partner.partnerId)).posted
    const references = { endToEndId: payout.endToEndId }
    await bank.take(reportXml([entryOf(10_00n, { details: [{ references, returned: { code: 'FOCR' } }] } as never)]))
    assert.equal((await balanceOf(service, partner.partnerId)).posted, before + 10_00n)
  })

test('the letter has what the bank needs, is the same at each reading, and is refused without a recall', async () => {
  const { payout, key } = await recalled()
  const bytes = async () => Buffer.concat(await Array.fromAsync(await service.isoBanks.recallLetter(key)))
  const [first, second] = [await bytes(), await bytes()]
  assert.ok(first.equals(second))
  assert.match(first.subarray(0, 8).toString('latin1'), /^%PDF-1\.7/)
  assert.ok(first.length > 5_000 && first.length < 200_000, String(first.length))
  const { payout: other } = await pay(service, partner, '1.00')
  await assert.rejects(service.isoBanks.recallLetter({ partnerId: partner.partnerId, id: instructionIdOf(other) }), {
    code: 'not_found',
  })
  await writeFile(join(folders.archive, 'letter.pdf'), first)
  assert.equal(payout.endToEndId.length, 32)
})
