/** Status reports of the bank: contradictions, duplicates, payee verification, and texts of the bank. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EntryDetail, Reason, TransferStatus } from '../../iso20022/index.ts'
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
import { transactionsRoutes } from '../../transactions/index.ts'
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

/** Sends payouts of these amounts in a file, and returns the ids that the bank knows. */
async function sent(...amounts: readonly string[]) {
  const ids: string[] = []
  for (const amount of amounts) ids.push((await pay(service, partner, amount)).payout.endToEndId)
  await submitDuePayouts(bank.settlement)
  return { ...(await markFiled(service)), ids }
}
type File = Awaited<ReturnType<typeof sent>>

suite('contradictory and repeated statuses, and statuses of files that are not ours', () => {
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
    test(`a refusal as a duplicate does not fail a file with the status ${accepted}`, async () => {
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

  test('a file that is only refused as a duplicate opens a case and releases no money', async () => {
    const file = await sent('10.00')
    await status(file, { groupStatus: 'RJCT', reasons: because('DU01') })
    assert.deepEqual([await payouts(), await kinds(), await bankStatus(file)], [['Processing'], ['file_refused'], null])
    assert.match((await casesOf(service))[0]?.details ?? '', /as a duplicate: DU01/)
    await status(file, { groupStatus: 'ACSC' })
    assert.deepEqual([await payouts(), await bankStatus(file)], [['Completed'], 'ACSC'])
  })

  test('a payment refused as a duplicate waits with a case, but an accepted payment whose repetition is refused does not', async () => {
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
    // Another reason means that they will not be executed.
    await transfers(file, { ...first, reasons: because('AC04') })
    assert.deepEqual(await payouts(), ['Failed', 'Processing', 'Processing'])
  })

  test('an instant payment that is refused as a duplicate is not sent again', async () => {
    const file = await sent('10.00')
    await service.db.run(
      sql`update rails.iso_instructions set scheme_applied = 'Instant', scheme_requested = 'Instant'`,
    )
    await transfers(file, { instructionId: file.ids[0] ?? '', status: 'RJCT', reasons: because('AM05') })
    const row = await service.db.row<{ status: string }>(sql`select status from rails.iso_instructions`)
    assert.equal(row?.status, 'Filed')
  })

  test('the status of a batch outranks the status of its file', async () => {
    const file = await sent('10.00')
    const batch = { batchId: file.batchId, status: 'RJCT', reasons: because('AM04'), transfers: [] }
    await status(file, { groupStatus: 'ACSC', batches: [batch] })
    assert.deepEqual([await payouts(), await kinds()], [['Failed'], []])
  })

  test('an end-to-end id counts only in an answer to one of our files, and only if one payment of the file has it', async () => {
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
})

suite('payee verification, blocked payments and unknown statuses', () => {
  let files = 0
  const answer = async ({ messageId }: Pick<File, 'messageId'>, more: Parameters<typeof statusXml>[1]) => {
    await folders.put(`payees-${(files += 1)}.xml`, statusXml(messageId, more))
    await bank.work()
  }
  const transfers = (file: File, ...codes: readonly string[]) =>
    answer(file, {
      batches: [
        {
          batchId: file.batchId,
          reasons: [],
          transfers: codes.map((status, at): TransferStatus => ({
            instructionId: file.ids[at] ?? '',
            status,
            reasons: [],
          })),
        },
      ],
    })
  const cases = async () => (await casesOf(service)).map(({ kind, details }) => [kind, details])
  const payouts = () =>
    service.db.rows<{ status: string; errorDetails: string | null; payeeCheck: string | null; timeline: string }>(sql`
    select payout.status, payout.error_details, payout.payee_check, transaction.timeline from payouts.payouts payout
      join transactions.transactions transaction on transaction.id = payout.transaction_id order by payout.amount`)
  const stepsOf = ({ timeline }: { readonly timeline: string }) =>
    (JSON.parse(timeline) as { step: string; actor?: string }[])
      .map(({ step }) => step)
      .filter((step) => step.startsWith('Payee'))

  test('payee verification results appear once in timelines, and mismatches open one case', async () => {
    const file = await sent('10.00', '11.00', '12.00', '13.00')
    await transfers(file, 'RCVC', 'RVMC', 'RVNM', 'RVNA')
    assert.deepEqual(
      (await payouts()).map((payout) => [payout.status, payout.payeeCheck, stepsOf(payout)]),
      [
        ['Processing', 'match', ['PayeeMatched']],
        ['Processing', 'close_match', ['PayeeMatchedClosely']],
        ['Processing', 'no_match', ['PayeeNotMatched']],
        ['Processing', 'unchecked', ['PayeeNotChecked']],
      ],
    )
    const [[kind, details] = [], ...more] = await cases()
    assert.deepEqual([kind, more], ['payee_mismatch', []])
    assert.match(details ?? '', /1 names do not match and 1 match closely/)
    // The same report under another file name, and one with other bytes, add no steps.
    await transfers(file, 'RCVC', 'RVMC', 'RVNM', 'RVNA')
    assert.deepEqual(
      (await payouts()).map((payout) => stepsOf(payout).length),
      [1, 1, 1, 1],
    )
    // The bank executes what was released.
    await answer(file, { groupStatus: 'ACSC' })
    assert.deepEqual(
      (await payouts()).map(({ status }) => status),
      ['Completed', 'Completed', 'Completed', 'Completed'],
    )
  })

  test('a withdrawn payment whose payee did not match fails for that reason', async () => {
    const file = await sent('10.00', '11.00', '12.00')
    await transfers(file, 'RVNM', 'RVMC', 'RCVC')
    await transfers(file, 'CANC', 'RJCT', 'RJCT')
    assert.deepEqual(
      (await payouts()).map(({ status, errorDetails }) => [status, errorDetails]),
      [
        ['Failed', 'The name of the recipient does not match the account. (RVNM)'],
        ['Failed', 'The name of the recipient is not exactly that of the account. (RVMC)'],
        ['Failed', 'The bank rejected the payment.'],
      ],
    )
  })

  test('a verification result of a complete file counts for each payment; an incomplete one is ignored', async () => {
    const file = await sent('10.00', '11.00')
    for (const groupStatus of ['RVNC', 'RVCM', 'PART']) await answer(file, { groupStatus })
    assert.deepEqual((await payouts()).map(stepsOf), [[], []])
    await answer(file, { groupStatus: 'RCVC' })
    assert.deepEqual((await payouts()).map(stepsOf), [['PayeeMatched'], ['PayeeMatched']])
    assert.deepEqual(await cases(), [])
  })

  test('a verification result after the end of a payment changes nothing', async () => {
    const file = await sent('10.00')
    await transfers(file, 'ACSC')
    await transfers(file, 'RVMC')
    assert.deepEqual(
      (await payouts()).map((payout) => [payout.status, stepsOf(payout)]),
      [['Completed', []]],
    )
  })

  test('a blocked payment keeps its money reserved, with a case, until the bank reports its end', async () => {
    const file = await sent('10.00', '11.00')
    await transfers(file, 'ACWP', 'ACFC')
    await transfers(file, 'BLCK')
    await transfers(file, 'BLCK')
    const found = await cases()
    assert.deepEqual(
      found.map(([kind]) => kind),
      ['payment_missing'],
    )
    assert.match(String(found[0]?.[1]), /has blocked the payment .* \(BLCK, without a reason\)/)
    assert.deepEqual(
      (await payouts()).map(({ status }) => status),
      ['Processing', 'Processing'],
    )
    await transfers(file, 'RJCT')
    assert.equal((await payouts())[0]?.status, 'Failed')
  })

  test('an unknown status opens a case and changes nothing', async () => {
    const file = await sent('10.00')
    await transfers(file, 'ZZZZ')
    await transfers(file, 'ZZZZ')
    await answer(file, { groupStatus: 'YYYY' })
    const found = await cases()
    assert.deepEqual(
      found.map(([kind]) => kind),
      ['entry_unclear', 'entry_unclear'],
    )
    assert.match(found.map(([, details]) => details).join(' '), /an unknown status: ZZZZ/)
    assert.deepEqual(
      (await payouts()).map(({ status }) => status),
      ['Processing'],
    )
  })
})

suite('texts of the bank for partners and staff', () => {
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

  /** Reads the timeline steps with texts of the bank, the event, and the details of the payout. */
  async function readBy({ payout }: Sent) {
    const { partnerId, caller } = partner
    const call = { caller, params: { reference: payout.reference }, query: {}, body: undefined }
    const { body } = await transactionsRoutes(service.transactions, service.holdOf).getTransactionTimeline(
      call as never,
    )
    const events = await service.db.rows<{ data: string }>(sql`
    select data from events.events where partner_id = ${partnerId} and reference = ${payout.reference} order by id`)
    return {
      steps: body.data.flatMap(({ step, bankText }) => (bankText === undefined ? [] : [[step, bankText]])),
      event: events.flatMap(({ data }) => (JSON.parse(data) as { errorDetails?: string }).errorDetails ?? []),
      details: (await service.payouts.get(partnerId, payout.id)).errorDetails,
    }
  }

  const sentence = 'Town and country of the creditor are required for this destination'
  const narrated = `The bank refused the payment and gave a reason as text. (NARR) The bank says: “${sentence}”`

  test('the text of a rejection is in the timeline, the event and the details for staff', async () => {
    const payment = await sent('10.00')
    await status(payment, 'RJCT', {
      code: 'NARR',
      texts: ['\u202eTown and country\n of the creditor', sentence.slice(32)],
    })
    assert.deepEqual(await readBy(payment), { steps: [['Failed', sentence]], event: [narrated], details: narrated })
    const [atBank] = await service.db.rows(sql`select error_details, reason_code from rails.iso_instructions`)
    assert.deepEqual(atBank, {
      errorDetails: `The bank refused the payment and gave a reason as text. The bank says: “${sentence}”`,
      reasonCode: 'NARR',
    })
  })

  test('a rejection can have only a text, or only a code', async () => {
    const [worded, coded] = [await sent('10.00'), await sent('11.00')]
    await status(worded, 'RJCT', { texts: ['Daily limit of the agreement'] })
    const details = 'The bank rejected the payment. The bank says: “Daily limit of the agreement”'
    const steps = [['Failed', 'Daily limit of the agreement']]
    assert.deepEqual(await readBy(worded), { steps, event: [details], details })
    await status(coded, 'RJCT', { code: 'AC04', texts: ['NOTPROVIDED'] })
    const closed = 'The account of the recipient is closed. (AC04)'
    assert.deepEqual(await readBy(coded), { steps: [], event: [closed], details: closed })
  })

  test('a return reported after the payment was booked has the text of the bank', async () => {
    const payment = await sent('10.00')
    await book(-10_00n, { references: { instructionId: payment.payout.endToEndId } })
    const returned = { code: 'MS03', texts: ['Konto des Empfängers', 'wird aufgelöst'] }
    await book(10_00n, { references: { endToEndId: payment.payout.endToEndId }, returned })
    const { steps, details } = await readBy(payment)
    assert.deepEqual(steps, [['Returned', 'Konto des Empfängers wird aufgelöst']])
    assert.match(details ?? '', /\(MS03\) The bank says: “Konto des Empfängers wird aufgelöst”$/)
    assert.deepEqual(await casesOf(service), [])
  })

  test('a payee verification text is in the timeline, and the payment continues', async () => {
    const payment = await sent('10.00')
    await status(payment, 'RVMC', { texts: ['Ada Byron'] })
    const { steps, details } = await readBy(payment)
    assert.deepEqual(steps, [['PayeeMatchedClosely', 'Ada Byron']])
    assert.equal(details, null)
  })

  const sample = join(samplesFolder ?? '', 'reported', 'reason-in-words.xml')
  const skip =
    samplesFolder === undefined || !existsSync(sample) ? 'SAMPLES_DIR does not name the reported files' : false

  test('partner and staff read the text of the bank for the reported file', { skip }, async () => {
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
})
