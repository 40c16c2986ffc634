/** Parts of a session in the ledger and its reports: a day of safeguarding and of reconciliation, and a part that was for something else. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { code, createSessionsInParts, paidInParts as done, type Opened } from '../../../test/support/checkout.ts'
import { createTestService, ip, pay, type Service } from '../../../test/support/composition.ts'
import { entryOf, reportXml } from '../../../test/support/iso-incoming.ts'
import { createSafeguarded } from '../../../test/support/safeguarding.ts'
import { newId } from '../kernel/index.ts'
import { readAtOneMoment } from '../postgres/index.ts'
import type { Line } from '../cases/reconciliation/index.ts'
import { submitDuePayouts } from '../banks/settlement/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const { open, eventsOf, inParts, sendAll, stateOf } = createSessionsInParts(() => service)

const undo = ({ partner: { partnerId }, session: { reference } }: Opened, partId?: string) =>
  service.db.transaction((tx) => service.deposits.undoCredit(tx, { partnerId, reference, partId }))

test('a part that was for something else leaves the session, and its money waits in suspense with a case', async () => {
  const opened = await inParts()
  await assert.rejects(undo(opened), /No part has arrived/)
  await sendAll(opened, '20.00', '10.00')
  const { parts } = await service.checkout.get(opened.partner.partnerId, opened.session.id)
  const [first = '', second = ''] = parts.map(({ id }) => id)
  await assert.rejects(undo(opened), new RegExp(`--part ${first} \\(20.00 EUR, Held\\), ${second}`))
  await assert.rejects(undo(opened, newId()), /Name the part/)
  const { caseId, reference } = await undo(opened, second)
  assert.equal(reference, null, 'the money had not reached the balance')
  await assert.rejects(undo(opened, second), /has already been taken back/)
  const state = { status: 'Open', paid: 2000n, remaining: 2990n, waits: 2000n, balance: 0n, suspense: 1000n }
  assert.deepEqual(await stateOf(opened), { ...state, parts: ['2000 Held', '1000 Reversed'] })
  const found = await service.cases.byId(service.db, opened.partner.partnerId, caseId)
  assert.deepEqual([found?.kind, found?.booked], ['unknown_payment', 1000n])
  assert.match(found?.report ?? '', /Grace Hopper/)
  const last = (await eventsOf(opened)).at(-1)
  assert.deepEqual([last?.type, last?.data.status, last?.data.paidAmount], ['checkout.part.updated', 'Reversed', 20])
  await sendAll(opened, '29.90')
  const completed = { ...done, parts: ['2000 Credited', '1000 Reversed', '2990 Credited'], suspense: 1000n }
  assert.deepEqual(await stateOf(opened), completed)
})

test('a part of a completed session is taken from the balance by a transaction, unless the balance lacks it or a refund goes on', async () => {
  const opened = await inParts()
  await sendAll(opened, '20.00', '29.90')
  const { partnerId, caller } = opened.partner
  const [first, second] = (await service.checkout.get(partnerId, opened.session.id)).parts.map(({ id }) => id)
  const both = await Promise.allSettled([undo(opened, first), undo(opened, first)])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  const state = { ...done, paid: 2990n, balance: 2990n, suspense: 2000n, parts: ['2000 Reversed', '2990 Credited'] }
  assert.deepEqual(await stateOf(opened), state)
  await pay(service, opened.partner, '1.00')
  await assert.rejects(undo(opened, second), code('validation_failed'))
  const refund = { amount: rawNumber('1.00'), idempotencyKey: newId(), partId: second ?? '' }
  const sent = await service.checkout.refund(caller, opened.session.id, refund, ip)
  await submitDuePayouts(service.settlement)
  await assert.rejects(undo(opened, second), new RegExp(`is refunded by ${sent.payout.reference}`))
  const exact = await open()
  await sendAll(exact, '49.90')
  await assert.rejects(undo(exact, newId()), /leave --part out/)
})

test('a refund that no worker has begun is cancelled when its payment is taken back', async () => {
  const opened = await inParts()
  await sendAll(opened, '49.90')
  const { partnerId, caller } = opened.partner
  const refund = { amount: rawNumber('1.00'), idempotencyKey: newId() }
  const { reference } = (await service.checkout.refund(caller, opened.session.id, refund, ip)).payout
  await undo(opened)
  assert.equal((await service.transactions.get(partnerId, reference)).row.status, 'Cancelled')
  const state = await stateOf(opened)
  assert.deepEqual([state.balance, state.suspense], [0n, 4990n])
})

test('a day with parts in hand agrees: they are money of customers, in the ledger as at the bank, also after one was taken away', async () => {
  const bank = await createSafeguarded()
  try {
    const { inParts: openInParts, stateOf: moneyOf } = createSessionsInParts(() => bank)
    await bank.designate(bank.today)
    const opened = await openInParts()
    const { partner, session } = opened
    const entries = [20_00n, 10_00n].map((amount) =>
      entryOf(amount, {
        bookingDate: bank.today,
        details: [
          {
            creditorAccount: { iban: session.iban },
            debtor: { name: 'Grace Hopper' },
            remittance: { unstructured: [session.creditorReference] },
          },
        ],
      }),
    )
    await bank.take(reportXml(entries, { on: bank.today }))
    const state = { status: 'Open', remaining: 1990n, balance: 0n, paid: 3000n }
    const parts = ['2000 Held', '1000 Held']
    assert.deepEqual(await moneyOf(opened), { ...state, parts, waits: 3000n, suspense: 0n })
    const agreed = async (wanted: Readonly<Record<string, string>>) => {
      const lines: Line[] = []
      await bank.db.transaction(async (tx) => {
        await readAtOneMoment(tx)
        for await (const page of bank.reconciliation.report(tx, {})) lines.push(...page)
      })
      const head = lines.find(({ record, connector }) => record === 'account' && connector === 'iso20022')
      assert.equal(head?.['unexplained'], '0.00', JSON.stringify(head))
      const [day, ...others] = await bank.safeguarding.compute(bank.today, await bank.moment())
      assert.deepEqual(others, [])
      const { status, requirement, resource, difference } = day?.record.content ?? {}
      assert.deepEqual(
        { status, balances: requirement?.balances, suspense: requirement?.suspense, resource, difference },
        { status: 'balanced', resource: '30.00', difference: '0.00', ...wanted },
      )
    }
    await bank.take(
      reportXml(entries, { kind: 'camt.053', statementId: 'S1', on: bank.today, opening: 0n, closing: 30_00n }),
    )
    await agreed({ balances: '0.00', suspense: '30.00' })
    const [, second] = (await bank.checkout.get(partner.partnerId, session.id)).parts.map(({ id }) => id)
    const undone = { partnerId: partner.partnerId, reference: session.reference, partId: second }
    await bank.db.transaction((tx) => bank.deposits.undoCredit(tx, undone))
    await bank.moment()
    const left = { ...state, paid: 2000n, remaining: 2990n, waits: 2000n, suspense: 1000n }
    assert.deepEqual(await moneyOf(opened), { ...left, parts: ['2000 Held', '1000 Reversed'] })
    await agreed({ balances: '0.00', suspense: '30.00' })
  } finally {
    await bank.close()
  }
})
