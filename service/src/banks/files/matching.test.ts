/** Bookings of the bank: their payments and credits, reversals, and payments that two persons end. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { dayMs, hourMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { BankEntry, TransferStatus } from '../../iso20022/index.ts'
import { submitDuePayouts } from '../settlement/index.ts'
import {
  addPartner,
  balanceOf,
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
  ownIban,
  reportXml,
  statusXml,
} from '../../../../test/support/iso-incoming.ts'
import { instructionIdOf } from '../../payouts/index.ts'
import type { PaymentOutcome } from './banks.ts'

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

suite('bookings of payments and credits', () => {
  /** Creates payouts of these amounts that are in a file to the bank. */
  async function sent(...amounts: readonly string[]) {
    const payouts = []
    for (const amount of amounts) payouts.push((await pay(service, partner, amount)).payout)
    await submitDuePayouts(bank.settlement)
    const file = await markFiled(service)
    return { file, payouts: payouts.map(({ id, endToEndId }) => ({ id, endToEndId, hex: endToEndId })) }
  }
  type Paid = Awaited<ReturnType<typeof sent>>['payouts'][number]

  const statusOf = async ({ id }: Paid) =>
    (await service.db.row<{ status: string }>(sql`select status from payouts.payouts where id = ${id}`))?.status
  const instructionOf = async ({ endToEndId }: Paid) =>
    service.db.row<{ status: string; booked: boolean; missing: boolean }>(sql`
    select status, entry_id is not null as booked, missing_since is not null as missing from rails.iso_instructions
    where end_to_end_id = ${endToEndId}`)
  const entries = () =>
    service.db.rows<{ kind: string; score: number; status: string; amount: bigint; matchedBy: string }>(sql`
    select kind, score, status, amount, matched_by from rails.iso_entries order by position, id`)
  const kindsOfCases = async () => (await casesOf(service)).map(({ kind, booked }) => [kind, booked])

  let files = 0
  const report = async (...booked: readonly BankEntry[]) => {
    await folders.put(`report-${(files += 1)}.xml`, reportXml(booked))
    await bank.work()
  }
  const status = async (messageId: string, more: Parameters<typeof statusXml>[1]) => {
    await folders.put(`status-${(files += 1)}.xml`, statusXml(messageId, more))
    await bank.work()
  }
  const transfers = (messageId: string, batchId: string, list: readonly TransferStatus[]) =>
    status(messageId, { batches: [{ batchId, reasons: [], transfers: list }] })
  const rejected = (hex: string, code: string): TransferStatus => ({
    instructionId: hex,
    endToEndId: hex,
    status: 'RJCT',
    reasons: [{ code, texts: [] }],
  })

  const debitOf = ({ hex }: Paid, minor: bigint, more: Parameters<typeof entryOf>[1] = {}) =>
    entryOf(-minor, { details: [{ references: { instructionId: hex, endToEndId: hex } }], ...more })
  const one = (list: readonly Paid[], at = 0): Paid => {
    const found = list[at]
    assert.ok(found)
    return found
  }

  test('a debit settles its payment by the instruction, or by the end-to-end id and the amount', async () => {
    const { payouts } = await sent('10.00', '11.00')
    const [first, second] = [one(payouts), one(payouts, 1)]
    const byEndToEnd = entryOf(-11_00n, { details: [{ references: { endToEndId: second.hex } }] })
    await report(debitOf(first, 10_00n), byEndToEnd)
    assert.deepEqual([await statusOf(first), await statusOf(second)], ['Completed', 'Completed'])
    assert.deepEqual(
      (await entries()).map(({ kind, score, status: applied, matchedBy }) => [kind, score, applied, matchedBy]),
      [
        ['payout', 100, 'Applied', '{"agreed":["instruction","amount"]}'],
        ['payout', 95, 'Applied', '{"agreed":["endToEnd","amount"]}'],
      ],
    )
    assert.deepEqual(await instructionOf(first), { status: 'Settled', booked: true, missing: false })
    assert.deepEqual(await kindsOfCases(), [])
  })

  test('a debit with a different amount settles its payment, and the difference opens a case', async () => {
    const { payouts } = await sent('10.00')
    await report(debitOf(one(payouts), 10_50n))
    assert.equal(await statusOf(one(payouts)), 'Completed')
    assert.deepEqual(await kindsOfCases(), [['amount_differs', -50n]])
  })

  test('a payment reported as paid is settled once; its debit only confirms it', async () => {
    const { file, payouts } = await sent('10.00', '11.00')
    const paid = payouts.map(({ hex }) => ({ instructionId: hex, status: 'ACSC', reasons: [] }))
    await transfers(file.messageId, file.batchId, paid)
    assert.equal(await statusOf(one(payouts)), 'Completed')
    await report(debitOf(one(payouts), 10_00n), debitOf(one(payouts, 1), 12_00n))
    assert.deepEqual(
      (await entries()).map(({ status: applied }) => applied),
      ['Applied', 'Applied'],
    )
    assert.deepEqual(await kindsOfCases(), [['unknown_debit', -1_00n]])
  })

  test('a second debit of a payment opens a separate case', async () => {
    const { payouts } = await sent('10.00')
    await report(debitOf(one(payouts), 10_00n), debitOf(one(payouts), 10_00n))
    assert.deepEqual(await kindsOfCases(), [['doubled', -10_00n]])
    assert.equal(await statusOf(one(payouts)), 'Completed')
    // The bank reverses the second debit: the payment does not change.
    const back = { details: [{ references: { instructionId: one(payouts).hex } }], isReversal: true }
    await report(entryOf(10_00n, back))
    assert.equal(await statusOf(one(payouts)), 'Completed')
    assert.deepEqual(await kindsOfCases(), [
      ['doubled', -10_00n],
      ['unknown_payment', 10_00n],
    ])
  })

  test('an unknown debit opens a case that lists possible payments', async () => {
    const { payouts } = await sent('10.00')
    await report(entryOf(-10_00n, { details: [{ creditor: { name: 'Grace  hopper' } }] }), entryOf(-3n))
    const opened = await casesOf(service)
    assert.deepEqual(
      opened.map(({ kind, booked }) => [kind, booked]),
      [
        ['unknown_debit', -10_00n],
        ['unknown_debit', -3n],
      ],
    )
    assert.match(
      opened[0]?.details ?? '',
      new RegExp(`It may be ${one(payouts).hex} \\(score 54: amount, name, date\\)`),
    )
    assert.equal(await statusOf(one(payouts)), 'Processing')
  })

  test('bank charges open cases, also charges included in the amount of a payment', async () => {
    const { payouts } = await sent('10.00')
    const codes = { domain: 'ACMT', family: 'MDOP', subFamily: 'CHRG' }
    const within = debitOf(one(payouts), 10_15n)
    const charges = [{ amount: { currency: 'EUR', minor: 15n } as const, isCredit: false, isIncluded: true }]
    const [detail] = within.details
    assert.ok(detail)
    const split = { ...within, details: [{ ...detail, amount: { currency: 'EUR', minor: 10_00n } as const, charges }] }
    await report(entryOf(-2_50n, { codes, details: [] }), split)
    assert.deepEqual(await kindsOfCases(), [
      ['bank_fee', -2_50n],
      ['bank_fee', -15n],
    ])
    assert.equal(await statusOf(one(payouts)), 'Completed')
    // The same booking as one sum.
    const { details: _none, ...sum } = within
    await folders.put('s.xml', reportXml([{ ...sum, details: [] }], { kind: 'camt.053', opening: 10_15n, closing: 0n }))
    await bank.work()
    assert.equal((await entries()).length, 3)
  })

  test('a return gives the money back once, with its reason', async () => {
    const { payouts } = await sent('10.00')
    const paid = one(payouts)
    await report(debitOf(paid, 10_00n))
    const back = entryOf(10_00n, {
      details: [{ references: { endToEndId: paid.hex }, returned: { code: 'AC04', texts: [] } }],
    })
    await report(back)
    assert.equal(await statusOf(paid), 'Returned')
    assert.equal((await balanceOf(service, partner.partnerId)).posted, 1_000_00n)
    // The return is repeated: it has no known owner.
    await report({ ...back, bankReference: 'AGAIN' })
    assert.deepEqual(await kindsOfCases(), [['unknown_payment', 10_00n]])
    assert.equal((await balanceOf(service, partner.partnerId)).posted, 1_000_00n)
  })

  test('a return and its debit are both booked, even if the return is reported first', async () => {
    const { payouts } = await sent('10.00')
    const paid = one(payouts)
    await report(
      entryOf(10_00n, { details: [{ references: { endToEndId: paid.hex }, returned: { code: 'AC04', texts: [] } }] }),
    )
    await report(debitOf(paid, 10_00n))
    assert.equal(await statusOf(paid), 'Returned')
    assert.deepEqual(
      (await entries()).map(({ status: applied }) => applied),
      ['Applied', 'Applied'],
    )
    assert.deepEqual(await kindsOfCases(), [])
    assert.equal((await balanceOf(service, partner.partnerId)).posted, 1_000_00n)
  })

  test('an incoming payment with the end-to-end id of a payout is not its return', async () => {
    const { payouts } = await sent('10.00')
    const paid = one(payouts)
    await report(debitOf(paid, 10_00n))
    await report(
      entryOf(10_00n, {
        details: [{ references: { endToEndId: paid.hex }, debtorAccount: { iban: 'FR7630006000011234567890189' } }],
      }),
    )
    assert.equal(await statusOf(paid), 'Completed')
    assert.deepEqual(await kindsOfCases(), [['unknown_payment', 10_00n]])
  })

  test('a correct batch sum settles all payments of the batch that were not rejected', async () => {
    const { file, payouts } = await sent('10.00', '11.00', '12.00')
    await transfers(file.messageId, file.batchId, [rejected(one(payouts, 2).hex, 'AC01')])
    assert.equal(await statusOf(one(payouts, 2)), 'Failed')
    const sum = entryOf(-21_00n, { details: [], batches: [{ batchId: file.batchId, count: 2 }] })
    await report(sum)
    assert.deepEqual([await statusOf(one(payouts)), await statusOf(one(payouts, 1))], ['Completed', 'Completed'])
    assert.deepEqual(
      (await entries()).map(({ kind }) => kind),
      ['payout'],
    )
    assert.deepEqual(await kindsOfCases(), [])
  })

  test('a wrong batch sum waits for its payments, then becomes an unknown debit', async () => {
    const { file, payouts } = await sent('10.00', '11.00')
    await report(entryOf(-20_00n, { details: [], batches: [{ messageId: file.messageId, count: 2 }] }))
    assert.deepEqual(
      (await entries()).map(({ kind }) => kind),
      ['waiting'],
    )
    service.clock.advance(2 * hourMs)
    await bank.work()
    assert.deepEqual(await kindsOfCases(), [['unknown_debit', -20_00n]])
    assert.equal(await statusOf(one(payouts)), 'Processing')
  })

  test('the status of a payment is correct for every order of bank reports', async () => {
    const { file, payouts } = await sent('10.00', '11.00', '12.00')
    const [a, b, c] = [one(payouts), one(payouts, 1), one(payouts, 2)]
    await status(file.messageId, { groupStatus: 'ACCP' })
    assert.equal((await instructionOf(a))?.status, 'Accepted')
    await transfers(file.messageId, file.batchId, [
      rejected(a.hex, 'AC04'),
      { instructionId: b.hex, status: 'ACSC', reasons: [] },
      { endToEndId: c.hex, status: 'PDNG', reasons: [] },
    ])
    assert.deepEqual([await statusOf(a), await statusOf(b), await statusOf(c)], ['Failed', 'Completed', 'Processing'])
    // Late and repeated statuses do not change ended payments.
    await transfers(file.messageId, file.batchId, [
      { instructionId: a.hex, status: 'ACSP', reasons: [] },
      { instructionId: b.hex, status: 'RCVD', reasons: [] },
      rejected(a.hex, 'AC04'),
    ])
    assert.equal((await instructionOf(a))?.status, 'Rejected')
    assert.equal((await instructionOf(b))?.status, 'Settled')
    assert.deepEqual(await kindsOfCases(), [])
    // A rejection of an executed payment is for staff to decide.
    await transfers(file.messageId, file.batchId, [rejected(b.hex, 'AC04')])
    assert.equal(await statusOf(b), 'Completed')
    assert.deepEqual(await kindsOfCases(), [['contradiction', null]])
  })

  test('a refused file rejects all of its payments, with a case', async () => {
    const { file, payouts } = await sent('10.00', '11.00')
    await status(file.messageId, { groupStatus: 'RJCT', reasons: [{ code: 'FF01', texts: ['Schema'] }] })
    assert.deepEqual([await statusOf(one(payouts)), await statusOf(one(payouts, 1))], ['Failed', 'Failed'])
    const [opened] = await casesOf(service)
    assert.equal(opened?.kind, 'file_refused')
    assert.match(opened?.details ?? '', /FF01 Schema/)
    assert.equal((await balanceOf(service, partner.partnerId)).available, 1_000_00n)
  })

  test('a refused batch rejects its payments', async () => {
    const { file, payouts } = await sent('10.00')
    const batch = { batchId: file.batchId, status: 'RJCT', reasons: [{ code: 'AM04', texts: [] }], transfers: [] }
    await status(file.messageId, { groupStatus: 'PART', batches: [batch] })
    assert.equal(await statusOf(one(payouts)), 'Failed')
  })

  test('an answer to an unknown message opens a case', async () => {
    await status('UNKNOWN1', { groupStatus: 'ACCP' })
    assert.deepEqual(await kindsOfCases(), [['entry_unclear', null]])
  })

  test('an instant payment refused by the instant scheme is sent again as a credit transfer', async () => {
    const { file, payouts } = await sent('10.00')
    const paid = one(payouts)
    await service.db.run(
      sql`update rails.iso_instructions set scheme_applied = 'Instant', scheme_requested = 'Instant'`,
    )
    await transfers(file.messageId, file.batchId, [rejected(paid.hex, 'AB05')])
    assert.equal((await instructionOf(paid))?.status, 'Queued')
    assert.equal(await statusOf(paid), 'Processing')
    // The repeated status is about the first attempt.
    await transfers(file.messageId, file.batchId, [rejected(paid.hex, 'AB05')])
    assert.equal((await instructionOf(paid))?.status, 'Queued')
    // A status without an attempt, about the file of the first attempt.
    await transfers(file.messageId, file.batchId, [{ endToEndId: paid.hex, status: 'RJCT', reasons: [] }])
    assert.equal((await instructionOf(paid))?.status, 'Queued')
  })

  test('a payment without any report is missing until the bank reports it', async () => {
    const { payouts } = await sent('10.00')
    service.clock.advance(dayMs + hourMs)
    await bank.work()
    await bank.work()
    assert.deepEqual(await kindsOfCases(), [['payment_missing', null]])
    assert.deepEqual(await instructionOf(one(payouts)), { status: 'Filed', booked: false, missing: true })
    await report(debitOf(one(payouts), 10_00n))
    assert.equal(await statusOf(one(payouts)), 'Completed')
    assert.deepEqual(await instructionOf(one(payouts)), { status: 'Settled', booked: true, missing: false })
  })

  test('a gap or an overlap of statements opens a case, in any order of arrival', async () => {
    const statement = (sequence: number, opening: bigint, minor: bigint) =>
      folders.put(
        `s-${(files += 1)}.xml`,
        reportXml([entryOf(minor, { bankReference: `S${sequence}` })], {
          kind: 'camt.053',
          statementId: `S${sequence}`,
          sequence,
          opening,
          closing: opening + minor,
          on: `2026-01-0${sequence}`,
        }),
      )
    await statement(3, 3n, 3n)
    await statement(1, 0n, 1n)
    await statement(2, 1n, 2n)
    await bank.work()
    const ofStatements = async () => (await kindsOfCases()).filter(([kind]) => String(kind).startsWith('statement'))
    assert.deepEqual(await ofStatements(), [])
    await statement(5, 10n, 5n)
    await bank.work()
    assert.deepEqual(await ofStatements(), [['statement_gap', null]])
    await statement(3, 3n, 3n)
    await bank.work()
    assert.deepEqual(await ofStatements(), [
      ['statement_gap', null],
      ['statement_overlap', null],
    ])
  })
})

suite('credits that the bank reverses', () => {
  let files = 0
  const report = async (...booked: readonly BankEntry[]) => {
    await folders.put(`report-${(files += 1)}.xml`, reportXml(booked))
    await bank.work()
  }
  const entries = () =>
    service.db.rows<{ kind: string; status: string }>(
      sql`select kind, status from rails.iso_entries order by position, id`,
    )
  const kindsOfCases = async () => (await casesOf(service)).map(({ kind, booked }) => [kind, booked])

  /** A credit of 5.00 to a new account of the customer, and its reversal. */
  async function creditAndReversal(endToEndId: string) {
    const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
    const details = [{ references: { endToEndId }, creditorAccount: { iban: ibans[0].iban } }]
    return { credit: entryOf(5_00n, { details }), reversal: entryOf(-5_00n, { details, isReversal: true }) }
  }
  const kindsOfEntries = async () => (await entries()).map(({ kind }) => kind).toSorted()
  const posted = async () => (await balanceOf(service, partner.partnerId)).posted

  test('a reversal takes the money of its credit back once, and a second reversal becomes an unknown debit', async () => {
    const { credit, reversal } = await creditAndReversal('X1')
    await report(credit)
    assert.equal(await posted(), 1_005_00n)
    await report(reversal, reversal)
    assert.equal(await posted(), 1_000_00n)
    assert.deepEqual(await kindsOfCases(), [['credit_reversed', null]])
    assert.deepEqual(await kindsOfEntries(), ['credit', 'reversal', 'waiting'])
    // No credit has arrived for the second reversal.
    service.clock.advance(5 * hourMs)
    await bank.work()
    assert.deepEqual((await kindsOfCases()).toSorted(), [
      ['credit_reversed', null],
      ['unknown_debit', -5_00n],
    ])
    assert.equal(await posted(), 1_000_00n)
  })

  test('a reversal read before its credit waits for the credit', async () => {
    const { credit, reversal } = await creditAndReversal('X1')
    const other = await creditAndReversal('X2')
    await report(reversal, other.reversal)
    await bank.work()
    assert.deepEqual(await kindsOfEntries(), ['waiting', 'waiting'])
    assert.deepEqual(await kindsOfCases(), [])
    await report(credit)
    await bank.work()
    assert.equal(await posted(), 1_000_00n)
    assert.deepEqual(await kindsOfEntries(), ['credit', 'reversal', 'waiting'])
    assert.deepEqual(await kindsOfCases(), [['credit_reversed', null]])
    assert.deepEqual(
      (await entries()).filter(({ kind }) => kind !== 'waiting').map(({ status }) => status),
      ['Applied', 'Applied'],
    )
  })

  test('a credit and its reversal in one message are matched, in either order', async () => {
    for (const [endToEndId, order] of [
      ['X1', (both: readonly BankEntry[]) => both],
      ['X2', (both: readonly BankEntry[]) => both.toReversed()],
    ] as const) {
      const { credit, reversal } = await creditAndReversal(endToEndId)
      await report(...order([credit, reversal]))
      await bank.work()
      assert.equal(await posted(), 1_000_00n)
    }
    assert.deepEqual(await kindsOfEntries(), ['credit', 'credit', 'reversal', 'reversal'])
    assert.deepEqual(await kindsOfCases(), [
      ['credit_reversed', null],
      ['credit_reversed', null],
    ])
  })

  test('a reversal without a credit is an unknown debit at once', async () => {
    const { bankReference: _, ...entry } = entryOf(-5_00n, { isReversal: true })
    await report(entry)
    assert.deepEqual(await kindsOfCases(), [['unknown_debit', -5_00n]])
  })
})

suite('payments that two people end after a written confirmation of the bank', () => {
  async function accepted() {
    const { payout } = await pay(service, partner, '10.00')
    await submitDuePayouts(bank.settlement)
    return payout
  }
  type Payout = Awaited<ReturnType<typeof accepted>>
  const end = (payout: Payout, how: PaymentOutcome) =>
    service.db.transaction((tx) =>
      service.isoBanks.endPayment(tx, { partnerId: partner.partnerId, id: instructionIdOf(payout), end: how }),
    )
  const statusOf = async ({ id }: Payout) => (await service.payouts.get(partner.partnerId, id)).status
  const balance = () => balanceOf(service, partner.partnerId)
  const booked = (payout: Payout) =>
    folders.put(
      'statement.xml',
      reportXml([entryOf(-10_00n, { details: [{ references: { endToEndId: payout.endToEndId } }] })], {
        iban: ownIban,
      }),
    )
  const kinds = async () => (await casesOf(service)).map(({ kind }) => kind)

  test('a payment that is not at the bank cannot be ended manually', async () => {
    const payout = await accepted()
    await assert.rejects(end(payout, 'paid'), /The payment is Queued. Only a payment that waits at the bank/)
    assert.equal(await statusOf(payout), 'Processing')
    const unknown = { partnerId: partner.partnerId, id: partner.partnerId, end: 'paid' } as const
    await assert.rejects(
      service.db.transaction((tx) => service.isoBanks.endPayment(tx, unknown)),
      { code: 'not_found' },
    )
  })

  test('a payout decided as paid completes once, and a later debit matches it', async () => {
    const payout = await accepted()
    await markFiled(service)
    await end(payout, 'paid')
    await assert.rejects(end(payout, 'not-paid'), /The payment is Settled/)
    await bank.work()
    assert.equal(await statusOf(payout), 'Completed')
    await booked(payout)
    await bank.work()
    assert.equal(await statusOf(payout), 'Completed')
    assert.deepEqual(await kinds(), [])
    assert.deepEqual(await balance(), { posted: 990_00n, reserved: 0n, available: 990_00n })
  })

  test('a payout decided as unpaid fails and releases its money; a later debit opens a case', async () => {
    const payout = await accepted()
    await markFiled(service)
    await end(payout, 'not-paid')
    await bank.work()
    assert.equal(await statusOf(payout), 'Failed')
    assert.deepEqual(await balance(), { posted: 1_000_00n, reserved: 0n, available: 1_000_00n })
    assert.deepEqual(await kinds(), [])
    await booked(payout)
    await bank.work()
    assert.equal(await statusOf(payout), 'Failed')
    assert.deepEqual(await kinds(), ['contradiction'])
  })

  test('one of two simultaneous decisions counts, and a later status that agrees changes nothing', async () => {
    const payout = await accepted()
    const { messageId, batchId } = await markFiled(service)
    const ends = await Promise.allSettled([end(payout, 'not-paid'), end(payout, 'paid')])
    assert.deepEqual(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    await bank.work()
    const status = await statusOf(payout)
    const said = status === 'Completed' ? 'ACSC' : 'RJCT'
    const transfers = [{ instructionId: payout.endToEndId, status: said, reasons: [] }]
    await folders.put('status.xml', statusXml(messageId, { batches: [{ batchId, reasons: [], transfers }] }))
    await bank.work()
    assert.equal(await statusOf(payout), status)
    assert.deepEqual(await kinds(), [])
  })
})
