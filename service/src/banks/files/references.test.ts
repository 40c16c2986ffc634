/** References: end-to-end ids of partners, and creditor references of sessions. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, beforeEach, suite, test } from 'node:test'
import { existsSync, readFileSync } from 'node:fs'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, balanceOf, ip, type Service, type TestPartner } from '../../../../test/support/composition.ts'
import {
  casesOf,
  createBankFolders,
  createIncomingBank,
  entryOf,
  ownIban,
  reportXml,
  statusXml,
} from '../../../../test/support/iso-incoming.ts'
import {
  atBank,
  type Folders,
  openBank,
  removeFolders,
  createBankService,
} from '../../../../test/support/iso-outgoing.ts'
import { type FilePayment, pain001Text } from '../../../../test/support/pain001.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { type EntryDetail, readPain001, recallAnswerXml } from '../../iso20022/index.ts'
import { newId, present, secondMs } from '../../kernel/index.ts'
import { processBankNotifications, sendDueRecalls, submitDuePayouts } from '../settlement/index.ts'
import { createRandom } from '../../../../test/support/random.ts'
import { createSessions, type OpenedSession } from '../../../../test/support/checkout.ts'
import { newReference, remitted } from '../../../../test/support/remittances.ts'
import { samplesFolder } from '../../../../test/support/samples.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { sql } from '../../postgres/index.ts'

suite('end-to-end ids of partners', () => {
  let folders: Folders
  let service: Service
  let partner: TestPartner
  beforeEach(async () => {
    ;({ folders, service } = await createBankService())
    partner = await addPartner(service, 1_000_00n)
  })
  afterEach(async () => {
    await service.close()
    await removeFolders(folders)
  })

  const hex = (id: string) => id.replaceAll('-', '')

  /** Sends payouts to the bank in a file, and returns them as the file states them. */
  async function sent(...payments: readonly FilePayment[]) {
    const { connector, steps, work } = openBank(service, folders)
    const settlement = { ...service.settlement, connectors: [connector] }
    const document = pain001Text(`M${hex(newId())}`.slice(0, 35), payments, { createdAt: service.clock.now() })
    const body = { mode: 'AllOrNothing' as const, idempotencyKey: newId(), customerId: partner.customer.id, document }
    const { bulk } = await service.bulkPayouts.createFromFile(partner.caller, body, ip)
    while ((await service.bulkPayouts.step()) > 0);
    await submitDuePayouts(settlement)
    await work()
    const [file] = (await atBank(folders)).filter(({ name }) => name.startsWith('pain.001'))
    const text = present(file?.text, 'the bank has the file')
    const message = await readPain001(
      (async function* bytes() {
        yield Buffer.from(text)
      })(),
    )
    const transfers = message.batches.flatMap((batch) => batch.transfers)
    const items = await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined)
    const payouts = []
    for (const { payoutId } of items) {
      const payout = await service.payouts.get(partner.partnerId, payoutId ?? '')
      payouts.push({ id: payout.id, hex: payout.endToEndId, reference: payout.reference })
    }
    const take = async (contents: string) => {
      await writeFile(join(folders.fromBank, `${newId()}.xml`), contents)
      while ((await steps.take()) > 0);
      while ((await processBankNotifications(settlement)) > 0);
    }
    const recall = async (id: string) => {
      const made = await service.recalls.create(partner.caller, id, { reason: 'FRAD' })
      for (let times = 0; times < 2; times += 1) {
        service.clock.advance(15 * secondMs)
        await sendDueRecalls(settlement, connector)
        await work()
      }
      return made
    }
    const batchId = present(message.batches[0]?.id, 'the file has a batch')
    return { transfers, payouts, messageId: message.messageId, batchId, take, recall }
  }
  type Sent = Awaited<ReturnType<typeof sent>>

  const statusesOf = async ({ payouts }: Sent) => {
    const found = []
    for (const { id } of payouts) found.push((await service.payouts.get(partner.partnerId, id)).status)
    return found
  }
  const kindsOfCases = async () => (await casesOf(service)).map(({ kind }) => kind)
  const debit = (minor: bigint, references: EntryDetail['references'], iban?: string) =>
    entryOf(-minor, { details: [{ references, ...(iban === undefined ? {} : { creditorAccount: { iban } }) }] })
  const returned = (minor: bigint, references: EntryDetail['references']) =>
    entryOf(minor, { details: [{ references, returned: { code: 'AC04', texts: [] } }] })
  const rent = { minor: 10_00n, endToEndId: 'RENT-11' }

  test('a file has the EndToEndId of the payout and an InstrId of the service', async () => {
    const { transfers, payouts } = await sent(rent, rent, { minor: 11_00n, endToEndId: 'NOTPROVIDED' })
    const own = payouts.map((payout) => payout.hex)
    assert.equal(new Set(own).size, 3)
    assert.deepEqual(
      transfers.map(({ instructionId, endToEndId }) => [instructionId, endToEndId]).toSorted(),
      [
        [own[0], 'RENT-11'],
        [own[1], 'RENT-11'],
        [own[2], own[2]],
      ].toSorted(),
    )
    const listed = await service.transactions.list(partner.partnerId, { endToEndId: 'RENT-11' })
    assert.deepEqual(
      listed.data.map(({ row }) => row.reference).toSorted(),
      payouts
        .slice(0, 2)
        .map(({ reference }) => reference)
        .toSorted(),
    )
    for (const { id, reference } of payouts)
      assert.deepEqual(
        (await service.payouts.list(partner.partnerId, { reference })).data.map((row) => row.id),
        [id],
      )
  })

  test('a report with the InstrId settles, rejects or returns that payment, even if the end-to-end id is shared', async () => {
    const both = await sent(rent, rent, rent)
    const { payouts, take, messageId, batchId } = both
    const [first, second, third] = payouts.map((payout) => ({ instructionId: payout.hex, endToEndId: 'RENT-11' }))
    assert.ok(first && second && third)
    await take(reportXml([debit(10_00n, second)]))
    assert.deepEqual(await statusesOf(both), ['Processing', 'Completed', 'Processing'])
    const rejected = { ...third, status: 'RJCT', reasons: [{ code: 'AC04', texts: [] }] }
    await take(statusXml(messageId, { batches: [{ batchId, reasons: [], transfers: [rejected] }] }))
    assert.deepEqual(await statusesOf(both), ['Processing', 'Completed', 'Failed'])
    await take(reportXml([debit(10_00n, first), returned(10_00n, second)]))
    assert.deepEqual(await statusesOf(both), ['Completed', 'Returned', 'Failed'])
    assert.deepEqual(await kindsOfCases(), [])
    assert.equal((await balanceOf(service, partner.partnerId)).posted, 990_00n)
  })

  test('announced debits and debits of a statement are matched by their InstrIds', async () => {
    const both = await sent(rent, rent)
    const [first, second] = both.payouts.map((payout) => ({ instructionId: payout.hex, endToEndId: 'RENT-11' }))
    assert.ok(first && second)
    await both.take(reportXml([debit(10_00n, first)]))
    const statement = { kind: 'camt.053', opening: 0n, closing: -20_00n } as const
    await both.take(reportXml([debit(10_00n, second), debit(10_00n, first)], statement))
    assert.deepEqual(await statusesOf(both), ['Completed', 'Completed'])
    assert.deepEqual(await kindsOfCases(), [])
  })

  test('a shared end-to-end id opens a case that names its payments, unless amount and account identify one', async () => {
    const both = await sent(rent, rent, { minor: 12_00n, endToEndId: 'RENT-11' })
    await both.take(reportXml([debit(10_00n, { endToEndId: 'RENT-11' })]))
    assert.deepEqual(await statusesOf(both), ['Processing', 'Processing', 'Processing'])
    const [found] = await casesOf(service)
    assert.equal(found?.kind, 'unknown_debit')
    for (const { hex: own } of both.payouts.slice(0, 2)) assert.ok(found?.details.includes(`RENT-11 (InstrId ${own})`))
    await both.take(reportXml([debit(12_00n, { endToEndId: 'RENT-11' }, 'FR1420041010050500013M02606')]))
    assert.deepEqual(await statusesOf(both), ['Processing', 'Processing', 'Processing'])
    await both.take(reportXml([debit(12_00n, { endToEndId: 'RENT-11' })]))
    assert.deepEqual(await statusesOf(both), ['Processing', 'Processing', 'Completed'])
    await both.take(reportXml([returned(10_00n, { endToEndId: 'RENT-11' })]))
    assert.deepEqual(await statusesOf(both), ['Processing', 'Processing', 'Completed'])
    assert.deepEqual(await kindsOfCases(), ['unknown_debit', 'unknown_debit', 'unknown_payment'])
  })

  test('an answer with only a shared end-to-end id does not fail payments', async () => {
    const both = await sent(rent, rent)
    const rejected = { endToEndId: 'RENT-11', status: 'RJCT', reasons: [{ code: 'AC04', texts: [] }] }
    const { messageId, batchId } = both
    await both.take(statusXml(messageId, { batches: [{ batchId, reasons: [], transfers: [rejected] }] }))
    assert.deepEqual(await statusesOf(both), ['Processing', 'Processing'])
    assert.equal((await kindsOfCases()).length, 1)
  })

  test('an end-to-end id that is the id of another payment matches neither payment', async () => {
    const [other] = (await sent({ minor: 10_00n, endToEndId: 'NOTPROVIDED' })).payouts
    const endToEndId = present(other?.hex, 'a payout was sent')
    const copy = await sent({ minor: 10_00n, endToEndId })
    await copy.take(reportXml([debit(10_00n, { endToEndId })]))
    assert.deepEqual(await statusesOf(copy), ['Processing'])
    assert.equal((await service.payouts.get(partner.partnerId, other?.id ?? '')).status, 'Processing')
    assert.deepEqual(await kindsOfCases(), ['unknown_debit'])
  })

  test('an incoming payment with the id of a payout is not a return: anyone may know the id', async () => {
    const one = await sent(rent)
    await one.take(reportXml([debit(10_00n, { endToEndId: 'RENT-11' })]))
    assert.deepEqual(await statusesOf(one), ['Completed'])
    const debtorAccount = { iban: 'DE89370400440532013000' }
    await one.take(
      reportXml([entryOf(10_00n, { details: [{ references: { endToEndId: 'RENT-11' }, debtorAccount }] })]),
    )
    assert.deepEqual(await statusesOf(one), ['Completed'])
  })

  test('an answer with only a shared id does not end recalls, and an answer that names a recall ends it', async () => {
    const both = await sent(rent, rent, { minor: 12_00n, endToEndId: 'INV-7' })
    const booked = both.payouts.map(({ hex: instructionId }, at) =>
      debit(at === 2 ? 12_00n : 10_00n, { instructionId }),
    )
    await both.take(reportXml(booked))
    for (const { id } of both.payouts) await both.recall(id)
    const answer = (endToEndId: string) =>
      [
        ...recallAnswerXml({
          messageId: hex(newId()),
          createdAt: '2026-01-12T12:00:00Z',
          caseId: 'C1',
          reasons: [],
          transfers: [{ endToEndId, status: 'RJCR', reasons: [{ code: 'NOAS', texts: [] }] }],
        }),
      ].join('')
    const statuses = async () => {
      const found = []
      for (const { id } of both.payouts)
        found.push((await service.recalls.list(partner.partnerId, id)).map(({ status }) => status))
      return found.flat()
    }
    await both.take(answer('RENT-11'))
    assert.deepEqual(await statuses(), ['Sent', 'Sent', 'Sent'])
    await both.take(answer('INV-7'))
    assert.deepEqual(await statuses(), ['Sent', 'Sent', 'Refused'])
    assert.deepEqual(await kindsOfCases(), ['entry_unclear'])
  })
})

suite('creditor references', async () => {
  const service = await useModules({ chooseConnector: () => 'iso20022' })
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  const folders = await createBankFolders()
  after(() => folders.remove())
  const sessions = createSessions(() => service)

  async function ownerOf() {
    const partner = await addPartner(service)
    const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
    return { partner, iban: ibans[0].iban, posted: async () => (await balanceOf(service, partner.partnerId)).posted }
  }

  test('each of 600 payments in a file pays the deposit that it names, never one of another partner', async () => {
    const random = createRandom(600)
    const [owner, stranger] = [await ownerOf(), await ownerOf()]
    const awaited = async ({ partner }: typeof owner) => {
      const creditorReference = newReference(random)
      const { row } = await service.deposits.open(
        {
          partnerId: partner.partnerId,
          operation: 'simulateDeposit',
          creditorReference,
          customerRef: partner.customer.id,
          amount: 500n,
          currency: 'EUR',
          idempotencyKey: null,
          websiteReference: null,
          customFields: null,
          ip,
          expiresAfterMs: 3_600_000,
          variant: '',
        },
        () => Promise.resolve(),
      )
      return { ...row, creditorReference }
    }
    const deposits = []
    for (let count = 0; count < 600; count += 1) deposits.push(await awaited(owner))
    const foreign = await awaited(stranger)
    const entries = deposits.map(({ creditorReference }) => {
      const { detail, information } = remitted(random, creditorReference)
      return entryOf(500n, {
        details: [{ creditorAccount: { iban: owner.iban }, debtor: { name: 'Ada' }, ...detail }],
        ...(information === undefined ? {} : { information }),
      })
    })
    // The reference of another partner, and a booking with two payments whose own texts do not name the deposit of its text.
    const paidWithForeign = entryOf(700n, {
      details: [{ creditorAccount: { iban: owner.iban }, remittance: { unstructured: [foreign.creditorReference] } }],
    })
    const kept = await awaited(owner)
    const half = { amount: { currency: 'EUR', minor: 500n }, creditorAccount: { iban: owner.iban } } as const
    const several = entryOf(1000n, { details: [half, half], information: kept.creditorReference })
    const before = await owner.posted()
    await folders.put('payments.xml', reportXml([...entries, paidWithForeign, several], { kind: 'camt.053' }))
    await createIncomingBank(service, folders).work()
    const statuses = await service.db.rows<{ id: string; status: string }>(
      sql`select id, status from deposits.deposits where creditor_reference is not null`,
    )
    const byId = new Map(statuses.map(({ id, status }) => [id, status]))
    const lost = deposits.flatMap(({ id }, at) => (byId.get(id) === 'Completed' ? [] : [entries[at]]))
    assert.deepEqual(lost, [])
    assert.deepEqual([byId.get(foreign.id), byId.get(kept.id)], ['Created', 'Created'])
    assert.equal((await owner.posted()) - before, 600n * 500n + 700n + 1000n)
    assert.deepEqual(await casesOf(service), [])
  })

  const sample = join(samplesFolder ?? '', 'reported', 'references-beside-text.xml')
  const skip =
    samplesFolder === undefined || !existsSync(sample) ? 'SAMPLES_DIR does not name the reported files' : false

  test('the reported file pays each waiting session, wherever its reference is written', { skip }, async () => {
    const { partner, iban } = await ownerOf()
    const opened: OpenedSession[] = []
    for (let euros = 10; euros <= 17; euros += 1)
      opened.push(await sessions.open({ amount: rawNumber(`${euros}.00`) }, partner))
    const values: Record<string, string> = { account: ownIban, customerIban: iban }
    for (const [at, { session }] of opened.entries()) {
      const { creditorReference } = session
      values[`reference${at + 1}`] = creditorReference
      values[`first 9 characters of reference${at + 1}`] = creditorReference.slice(0, 9)
      values[`the rest of reference${at + 1}`] = creditorReference.slice(9)
    }
    const filled = readFileSync(sample, 'utf8').replaceAll(/\{\{([^}]+)\}\}/g, (_all, name: string) => {
      const value = values[name]
      assert.ok(value !== undefined, name)
      return value
    })
    await folders.put('reported.xml', filled)
    await createIncomingBank(service, folders).work()
    assert.deepEqual(
      await Promise.all(opened.map((one) => sessions.statusOf(one))),
      opened.map(() => 'Completed'),
    )
  })
})
