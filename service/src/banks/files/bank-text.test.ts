/** The bank's own words about a payment: from its file to the partner and to staff. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import type { EntryDetail, Reason } from '../../iso20022/index.ts'
import { transactionsRoutes } from '../../transactions/index.ts'
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
import { samplesFolder } from '../../../../test/support/samples.ts'

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

async function sent(amount: string) {
  const { payout } = await pay(service, partner, amount)
  await submitDuePayouts(bank.settlement)
  return { payout, ...(await markFiled(service)) }
}
type Sent = Awaited<ReturnType<typeof sent>>

const status = async ({ payout, messageId, batchId }: Sent, code: string, ...reasons: readonly Reason[]) => {
  const transfers = [{ instructionId: payout.endToEndId, status: code, reasons }]
  const report = { batches: [{ batchId, reasons: [], transfers }] }
  await folders.put(`${code}.xml`, statusXml(messageId, report))
  await bank.work()
}

const book = async (minor: bigint, detail: Partial<EntryDetail>) => {
  await folders.put(`${minor}.xml`, reportXml([entryOf(minor, { details: [detail] })]))
  await bank.work()
}

/** Reads the steps with words of the bank, the event, and the details of the payout. */
async function readBy({ payout }: Sent) {
  const { partnerId, caller } = partner
  const call = { caller, params: { reference: payout.reference }, query: {}, body: undefined }
  const { body } = await transactionsRoutes(service.transactions, service.holdOf).getTransactionTimeline(call as never)
  const events = await service.db.rows<{ data: string }>(sql`
    select data from events.events where partner_id = ${partnerId} and reference = ${payout.reference} order by id`)
  return {
    steps: body.data.flatMap(({ step, bankText }) => (bankText === undefined ? [] : [[step, bankText]])),
    event: events.flatMap(({ data }) => (JSON.parse(data) as { errorDetails?: string }).errorDetails ?? []),
    details: (await service.payouts.get(partnerId, payout.id)).errorDetails,
  }
}

const sentence = 'Town and country of the creditor are required for this destination'
const narrated = `The bank refused the payment with a reason in its own words. (NARR) The bank says: “${sentence}”`

test('a rejection with a sentence: the partner reads it in the timeline and the event, staff in the details', async () => {
  const payment = await sent('10.00')
  await status(payment, 'RJCT', {
    code: 'NARR',
    texts: ['\u202eTown and country\n of the creditor', sentence.slice(32)],
  })
  assert.deepEqual(await readBy(payment), { steps: [['Failed', sentence]], event: [narrated], details: narrated })
  const [atBank] = await service.db.rows(sql`select error_details, reason_code from rails.iso_instructions`)
  assert.deepEqual(atBank, {
    errorDetails: `The bank refused the payment with a reason in its own words. The bank says: “${sentence}”`,
    reasonCode: 'NARR',
  })
})

test('a rejection with words and no code, and one with a code and no words', async () => {
  const [worded, coded] = [await sent('10.00'), await sent('11.00')]
  await status(worded, 'RJCT', { texts: ['Daily limit of the agreement'] })
  const details = 'The bank rejected the payment. The bank says: “Daily limit of the agreement”'
  const steps = [['Failed', 'Daily limit of the agreement']]
  assert.deepEqual(await readBy(worded), { steps, event: [details], details })
  await status(coded, 'RJCT', { code: 'AC04', texts: ['NOTPROVIDED'] })
  const closed = 'The account of the recipient is closed. (AC04)'
  assert.deepEqual(await readBy(coded), { steps: [], event: [closed], details: closed })
})

test('a return with a sentence, after the payment was booked', async () => {
  const payment = await sent('10.00')
  await book(-10_00n, { references: { instructionId: payment.payout.endToEndId } })
  const returned = { code: 'MS03', texts: ['Konto des Empfängers', 'wird aufgelöst'] }
  await book(10_00n, { references: { endToEndId: payment.payout.endToEndId }, returned })
  const { steps, details } = await readBy(payment)
  assert.deepEqual(steps, [['Returned', 'Konto des Empfängers wird aufgelöst']])
  assert.match(details ?? '', /\(MS03\) The bank says: “Konto des Empfängers wird aufgelöst”$/)
  assert.deepEqual(await casesOf(service), [])
})

test('a check of the payee with words has them in the timeline, and the payment goes on', async () => {
  const payment = await sent('10.00')
  await status(payment, 'RVMC', { texts: ['Ada Byron'] })
  const { steps, details } = await readBy(payment)
  assert.deepEqual(steps, [['PayeeMatchedClosely', 'Ada Byron']])
  assert.equal(details, null)
})

const sample = join(samplesFolder ?? '', 'reported', 'reason-in-words.xml')
const skip = samplesFolder === undefined || !existsSync(sample) ? 'SAMPLES_DIR does not name the reported files' : false

test('the reported file: partner and staff read the sentence of the bank', { skip }, async () => {
  const payment = await sent('10.00')
  const values: Record<string, string> = {
    messageId: payment.messageId,
    paymentInformationId: payment.batchId,
    instructionId: payment.payout.endToEndId,
    endToEndId: payment.payout.endToEndId,
  }
  const filled = readFileSync(sample, 'utf8').replaceAll(
    /\{\{([^}]+)\}\}/g,
    (_all, name: string) => values[name] ?? name,
  )
  await folders.put('reported.xml', filled)
  await bank.work()
  assert.deepEqual(await readBy(payment), { steps: [['Failed', sentence]], event: [narrated], details: narrated })
})
