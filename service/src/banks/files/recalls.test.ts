/** Recalls of partners: one request for a payment, by file or by letter, its answers, and the money. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import {
  addPartner,
  balanceOf,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { casesOf, connectorId, entryOf, reportXml, statusXml } from '../../../../test/support/iso-incoming.ts'
import {
  atBank,
  createFolders,
  type Folders,
  openBank,
  removeFolders,
  createBankService,
} from '../../../../test/support/iso-outgoing.ts'
import { schemaErrors } from '../../../../test/support/iso-schemas.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { recallAnswerXml } from '../../iso20022/index.ts'
import { amountText, dayMs, newId, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { processBankNotifications, sendDueRecalls, submitDuePayouts } from '../settlement/index.ts'
import { instructionIdOf } from '../../payouts/index.ts'
import type { RecallKind } from './ids.ts'
import { createRequestRecall } from './recalls.ts'

suite('recalls by file', () => {
  let folders: Folders
  let service: Service
  let partner: TestPartner
  beforeEach(async () => {
    ;({ folders, service } = await createBankService())
    partner = await addPartner(service, 100_00n)
  })
  afterEach(async () => {
    await service.close()
    await removeFolders(folders)
  })

  function open(kind: RecallKind = 'camt.055') {
    const { connector, steps, work } = openBank(service, folders, { recalls: kind })
    const settlement = { ...service.settlement, connectors: [connector] }
    const take = async (contents: string) => {
      await writeFile(join(folders.fromBank, `${newId()}.xml`), contents)
      while ((await steps.take()) > 0);
      while ((await processBankNotifications(settlement)) > 0);
    }
    const send = async () => {
      service.clock.advance(15 * secondMs)
      return sendDueRecalls(settlement, connector)
    }
    return { connector, settlement, work, take, send }
  }
  type Bank = ReturnType<typeof open>

  /** Creates a payout that the bank has booked. */
  async function settled({ settlement, work, take }: Bank, minor = 10_00n) {
    const { payout } = await pay(service, partner, amountText(minor, 'EUR'))
    await submitDuePayouts(settlement)
    await work()
    await take(reportXml([entryOf(-minor, { details: [{ references: { instructionId: payout.endToEndId } }] })]))
    assert.equal((await service.payouts.get(partner.partnerId, payout.id)).status, 'Completed')
    return payout
  }
  const request = (id: string, reason: 'DUPL' | 'FRAD' = 'FRAD') =>
    service.recalls.create(partner.caller, id, { reason, text: 'The invoice was forged.' })
  const recallOf = async (id: string) => (await service.recalls.list(partner.partnerId, id))[0]
  const hex = (id: string) => id.replaceAll('-', '')
  const recallFiles = async (kind: RecallKind = 'camt.055') =>
    (await atBank(folders)).filter(({ name }) => name.startsWith(kind))

  function answerXml(recallId: string, status: string, code?: string, ...texts: readonly string[]): string {
    const reasons = code === undefined ? [] : [{ code, texts }]
    const value = {
      messageId: hex(newId()),
      createdAt: '2026-01-12T12:00:00Z',
      caseId: 'C1',
      confirmation: status,
      reasons: [],
      transfers: [{ cancellationId: hex(recallId), status, reasons }],
    }
    return [...recallAnswerXml(value)].join('')
  }
  const returnXml = (endToEndId: string, minor: bigint) =>
    reportXml([entryOf(minor, { details: [{ references: { endToEndId }, returned: { code: 'FOCR', texts: [] } }] })])

  for (const kind of ['camt.055', 'camt.056'] as const)
    test(`a recall by ${kind} is Sent once its file is at the bank, then accepted by the answer, and settled by the money`, async () => {
      const bank = open(kind)
      const payout = await settled(bank)
      const { id } = await request(payout.id)
      assert.equal(await bank.send(), 1)
      assert.equal((await recallOf(payout.id))?.status, 'Requested')
      // Repeated while the request waits for its file.
      assert.equal(await bank.send(), 1)
      await bank.work()
      assert.equal(await bank.send(), 1)
      assert.equal((await recallOf(payout.id))?.status, 'Sent')
      const [file, ...others] = await recallFiles(kind)
      assert.equal(others.length, 0)
      assert.deepEqual([file?.text.split(hex(id)).length, file?.text.includes('The invoice was forged.')], [2, true])
      assert.deepEqual(await schemaErrors(`${kind}.001.08`, [file?.text ?? '']), [])
      assert.match(file?.text ?? '', /<CxlRsnInf><Orgtr><Nm>[^<]+<\/Nm><\/Orgtr><Rsn><Cd>FRAD</)
      await bank.take(answerXml(id, 'PDCR'))
      assert.equal((await recallOf(payout.id))?.status, 'Sent')
      await bank.take(answerXml(id, 'ACCR'))
      assert.equal((await recallOf(payout.id))?.status, 'Accepted')
      assert.equal((await balanceOf(service, partner.partnerId)).posted, 90_00n)
      await bank.take(returnXml(payout.endToEndId, 10_00n))
      await bank.take(answerXml(id, 'ACCR'))
      assert.equal((await recallOf(payout.id))?.settledAmount, 10_00n)
      assert.equal((await balanceOf(service, partner.partnerId)).posted, 100_00n)
      assert.deepEqual(await casesOf(service), [])
    })

  test('after a refusal, a recall for another reason is a new request', async () => {
    const bank = open()
    const payout = await settled(bank)
    const first = await request(payout.id, 'DUPL')
    await bank.send()
    await bank.work()
    // The answer arrives before the worker has looked for the file at the bank.
    await bank.take(answerXml(first.id, 'RJCR', 'NOAS', 'Le bénéficiaire', '\u202ene répond pas'))
    const refused = await recallOf(payout.id)
    const words = 'Le bénéficiaire ne répond pas'
    assert.deepEqual([refused?.status, refused?.answerCode, refused?.answerText], ['Refused', 'NOAS', words])
    const { transaction } = await service.transactions.timeline(partner.partnerId, payout.reference)
    const [told] = transaction.timeline.filter(({ step }) => step === 'RecallRefused')
    assert.deepEqual([told?.reason, told?.bankText, told?.recallId], ['NOAS', words, first.id])
    const second = await request(payout.id, 'FRAD')
    await bank.send()
    await bank.work()
    await bank.send()
    assert.equal((await recallFiles()).length, 2)
    // A late acceptance of the first request does not answer the second one.
    await bank.take(answerXml(first.id, 'ACCR'))
    const statuses = (await service.recalls.list(partner.partnerId, payout.id)).map(({ id, status }) => [id, status])
    assert.deepEqual(statuses, [
      [second.id, 'Sent'],
      [first.id, 'Accepted'],
    ])
    await bank.take(returnXml(payout.endToEndId, 9_00n))
    const [open2, paid] = await service.recalls.list(partner.partnerId, payout.id)
    assert.deepEqual([open2?.settledAmount, paid?.settledAmount], [null, 9_00n])
    assert.deepEqual(
      (await casesOf(service)).map(({ kind }) => kind),
      ['amount_differs'],
    )
  })

  test('a recall by the operator and one by the partner for the same payment share a request and its answer', async () => {
    for (const operatorFirst of [true, false]) {
      const bank = open()
      const payout = await settled(bank)
      const { partnerId } = partner
      const byOperator = () =>
        createRequestRecall(service)({ partnerId, id: instructionIdOf(payout), reason: 'DUPL', staff: 'Sam Staff' })
      if (operatorFirst) await byOperator()
      await request(payout.id)
      const sent = bank.send()
      if (!operatorFirst) {
        await sent
        await assert.rejects(byOperator(), { detail: 'The payment already has a recall. Wait for its answer.' })
      }
      await sent
      await bank.work()
      await bank.send()
      assert.equal((await recallOf(payout.id))?.status, 'Sent')
      const rows = await service.db.rows<{ readonly id: string }>(sql`
      select id from rails.iso_recalls where partner_id = ${partnerId} and instruction_id = ${instructionIdOf(payout)}`)
      assert.equal(rows.length, 1)
      await bank.take(answerXml(rows[0]?.id ?? '', 'RJCR', 'LEGL'))
      const recall = await recallOf(payout.id)
      assert.deepEqual([recall?.status, recall?.answerCode], ['Refused', 'LEGL'])
    }
  })

  test('two simultaneous recalls of a payment create one request at the bank', async () => {
    const bank = open()
    for (let round = 0; round < 8; round += 1) {
      const payout = await settled(bank)
      const { partnerId } = partner
      const { id } = await request(payout.id)
      const instructionId = instructionIdOf(payout)
      const operator = createRequestRecall(service)({
        partnerId,
        id: instructionId,
        reason: 'DUPL',
        staff: 'Sam Staff',
      })
      const [ours, theirs] = await Promise.allSettled([bank.send(), operator])
      assert.equal(ours.status, 'fulfilled')
      const rows = await service.db.rows<{ readonly id: string }>(sql`
      select id from rails.iso_recalls where partner_id = ${partnerId} and instruction_id = ${instructionId}`)
      assert.deepEqual([rows.length, rows[0]?.id === id], [1, theirs.status === 'rejected'])
      await bank.take(returnXml(payout.endToEndId, 10_00n))
      assert.equal((await recallOf(payout.id))?.settledAmount, 10_00n)
    }
  })

  for (const kind of ['camt.055', 'camt.056'] as const)
    test(`a recall of an unknown payment, and a refused file of ${kind}, end as refused`, async () => {
      const bank = open(kind)
      const known = await settled(bank)
      await request(known.id)
      await bank.send()
      await bank.work()
      const [file] = await recallFiles(kind)
      const messageId = file?.name.replace(/^camt\.05\d-(.*)\.xml$/, '$1') ?? ''
      await bank.take(statusXml(messageId, { groupStatus: 'RJCT', reasons: [{ code: 'FF01', texts: [] }] }))
      assert.deepEqual(
        [(await recallOf(known.id))?.status, (await recallOf(known.id))?.answerCode],
        ['Refused', 'FF01'],
      )
      const payout = await settled(bank)
      await service.db.run(sql`delete from rails.iso_instructions where partner_id = ${partner.partnerId}`)
      await request(payout.id)
      await bank.send()
      assert.deepEqual(
        [(await recallOf(payout.id))?.status, (await recallOf(payout.id))?.answerCode],
        ['Refused', null],
      )
    })

  test('recalled money for a closed balance waits in suspense with a case', async () => {
    const bank = open()
    const payout = await settled(bank, 100_00n)
    const { id } = await request(payout.id)
    await bank.send()
    await bank.work()
    await bank.take(answerXml(id, 'ACCR'))
    await service.db.run(sql`
    update ledger.accounts set state = 'Closed'
    where partner_id = ${partner.partnerId} and name = 'balance' and currency = 'EUR'`)
    service.clock.advance(dayMs)
    await bank.take(returnXml(payout.endToEndId, 100_00n))
    const recall = await recallOf(payout.id)
    assert.deepEqual([recall?.status, recall?.settledAmount], ['Accepted', null])
    assert.deepEqual(
      (await casesOf(service)).map(({ kind }) => kind),
      ['contradiction'],
    )
  })
})

suite('recalls by letter, at a bank without recall files', () => {
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

  /** Creates a booked payout that its partner recalls. */
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

  test('a recall by letter opens one case and creates no file, and is Sent once an operator has recorded the letter', async () => {
    const { payout, key } = await recalled()
    const [opened, ...others] = await casesOf(service)
    assert.deepEqual([opened?.kind, others], ['recall_letter', []])
    assert.match(opened?.details ?? '', /A recall of the payment .* \(FRAD\)/)
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
      /The recall is Queued. Only an answer to a sent letter/,
    )
    const sent = await Promise.allSettled(
      [1, 2].map(() => service.db.transaction((tx) => service.isoBanks.letterSent(tx, key))),
    )
    assert.deepEqual(sent.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    await bank.send()
    assert.equal((await recallOf(payout.id))?.status, 'Sent')
  })

  for (const accepted of [true, false])
    test(`the recorded answer to a letter ${accepted ? 'accepts the recall, and the money arrives as a return' : 'refuses the recall, with its code'}`, async () => {
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

  test('the letter is complete, identical each time, and refused without a recall', async () => {
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
})
