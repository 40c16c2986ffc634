/** Sessions that add up payments, and their parts in the ledger. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  hasCode,
  createSessionsInParts,
  paidInParts as done,
  type OpenedSession,
} from '../../../test/support/checkout.ts'
import { addPartner, ip, pay, type Service } from '../../../test/support/composition.ts'
import { pluck } from '../../../test/support/pluck.ts'
import { decideAll, listedName, sampleList, screenAll } from '../../../test/support/screening/held.ts'
import { hourMs, minuteMs, newId, present, secondMs } from '../kernel/index.ts'
import { useSnapshot, sql } from '../postgres/index.ts'
import { toSession } from './routes.ts'
import { entryOf, reportXml } from '../../../test/support/iso-incoming.ts'
import { createSafeguarded } from '../../../test/support/safeguarding.ts'
import { useModules } from '../../../test/support/fixture.ts'
import type { ReportLine } from '../cases/reconciliation/index.ts'
import { submitDuePayouts } from '../banks/settlement/index.ts'
const service = await useModules()

suite('parts', () => {
  const { open, settle, statusOf, namesOf, eventsOf, casesOf, pay, inParts, send, sendAll, stateOf, kindsOf } =
    createSessionsInParts(() => service)
  const reverseLast = async ({ partner, session }: OpenedSession) => {
    await service.checkout.simulate(partner.partnerId, session.id, { step: 'reverse' }, ip)
    await settle()
  }

  test('parts are held apart from the balance, and the part that completes the sum releases all parts', async () => {
    const opened = await inParts()
    assert.deepEqual(toSession(opened.session).parts, [])
    await sendAll(opened, '20.00')
    const first = { status: 'Open', paid: 2000n, remaining: 2990n, balance: 0n, suspense: 0n }
    assert.deepEqual(await stateOf(opened), { ...first, parts: ['2000 Held'], waits: 2000n })
    const page = await service.checkout.payment(opened.token)
    assert.deepEqual([page.due, page.mayPay, page.depositStatus], [2990n, true, 'PartiallyPaid'])
    await sendAll(opened, '9.90', '20.00')
    assert.deepEqual(await stateOf(opened), { ...done, parts: ['2000 Credited', '990 Credited', '2000 Credited'] })
    const events = await eventsOf(opened)
    assert.deepEqual(
      events.map(({ type }) => type),
      ['created', ...Array(3).fill('checkout.part.updated'), 'accepted', 'completed', 'transaction.status.changed'],
    )
    assert.deepEqual(
      events
        .slice(1, 4)
        .map(({ data }) => [data.status, data.partAmount, data.paidAmount, data.remainingAmount].join(' ')),
      ['Held 20 20 29.9', 'Held 9.9 29.9 20', 'Credited 20 49.9 0'],
    )
    const { timeline } = await service.transactions.get(opened.partner.partnerId, opened.session.reference)
    assert.deepEqual(
      timeline.map(({ step }) => step),
      ['Created', 'PartReceived', 'PartReceived', 'PartReceived', 'Accepted', 'Settled', 'Credited'],
    )
    assert.deepEqual(await casesOf(opened.partner.partnerId), [])
  })

  test('one payment of the full amount is one part, and a session without partial payments fails on a different amount', async () => {
    const transferred = await inParts()
    await sendAll(transferred, '49.90')
    const atBank = await inParts()
    await sendAll(atBank, '10.00')
    await pay(atBank)
    await settle()
    assert.deepEqual(await stateOf(transferred), { ...done, parts: ['4990 Credited'] })
    assert.deepEqual(await stateOf(atBank), { ...done, parts: ['1000 Credited', '3990 Credited'] })
    const exact = await open()
    await sendAll(exact, '20.00')
    assert.equal(await statusOf(exact), 'Failed')
  })

  test('a bank report about the deposit counts as a part exactly once', async () => {
    const opened = await inParts()
    const { partner, session } = opened
    const money = { amount: rawNumber('20.00'), currency: 'EUR', debtorName: 'Ada Lovelace' } as const
    for (const step of ['initiate', 'submit', 'accept', 'settle'] as const) {
      await service.checkout.simulate(partner.partnerId, session.id, { step, ...money }, ip)
      await settle()
    }
    assert.equal((await stateOf(opened)).waits, 2000n)
    await sendAll(opened, '29.90')
    assert.deepEqual(await stateOf(opened), { ...done, parts: ['2000 Credited', '2990 Credited'] })
  })

  test('a surplus completes the session and goes to suspense with a case that names the payer', async () => {
    const opened = await inParts()
    await sendAll(opened, '40.00', '10.00')
    const parts = ['4000 Credited', '990 Credited']
    assert.deepEqual(await stateOf(opened), { ...done, parts, suspense: 10n })
    assert.deepEqual(await kindsOf(opened), [['amount_differs', 10n]])
    await sendAll(opened, '5.00')
    assert.deepEqual(await stateOf(opened), { ...done, parts, suspense: 510n })
    const { partnerId } = opened.partner
    const [surplus] = await service.cases.about(service.db, partnerId, [await depositIdOf(opened)])
    const key = { partnerId, id: present(surplus, 'the surplus has a case').id }
    const proposing = { ...key, action: 'return', staff: 'Sam Staff', note: 'Too much.' } as const
    await service.db.transaction((tx) => service.decisions.propose(tx, proposing))
  })

  const depositIdOf = async ({ partner: { partnerId }, session }: OpenedSession) =>
    present(
      await service.db.row<{ depositId: string }>(
        sql`select deposit_id from checkout.sessions where partner_id = ${partnerId} and id = ${session.id}`,
      ),
      'the session exists',
    ).depositId

  test('concurrent parts and repeated reports count exactly once each, and the session completes exactly once', async () => {
    const opened = await inParts()
    const { partner, session } = opened
    const credit = (amount: bigint) =>
      ({
        ...{
          partnerId: partner.partnerId,
          id: newId(),
          subjectId: newId(),
          kind: 'credit.booked' as const,
          endToEndId: null,
        },
        ...{
          account: session.iban,
          money: { currency: 'EUR' as const, amount },
          remittance: session.creditorReference,
        },
        debtor: { account: 'DE89370400440532013000', bic: '', name: 'Ada', countryCode: 'DE', address: null },
      }) as const
    const credits = [1000n, 1000n, 1000n, 1000n, 990n].map(credit)
    const process = () =>
      Promise.all([...credits, ...credits].map((one) => service.deposits.processCredit('sandbox', one)))
    const applied = [...(await process()), ...(await process())].map((answer) => answer.applied)
    assert.equal(applied.filter((each) => each === true).length, 5, applied.join())
    assert.equal(applied.filter((each) => each === false).length, 15, applied.join())
    const { parts, ...state } = await stateOf(opened)
    assert.deepEqual([state, parts.length], [done, 5])
    assert.equal((await namesOf(opened)).filter((name) => name === 'completed').length, 1)
  })

  test('money in another currency, and parts beyond the maximum, go to suspense and do not end the session', async () => {
    const opened = await inParts()
    await sendAll(opened, '20.00')
    await send(opened, '29.90', 'Grace Hopper', 'USD')
    await settle()
    assert.deepEqual(await kindsOf(opened), [['contradiction', 2990n]])
    assert.equal(await statusOf(opened), 'Open')
    const many = await inParts()
    for (let part = 0; part < 51; part += 1) await send(many, '0.10')
    await settle()
    assert.equal((await stateOf(many)).paid, 500n)
    assert.deepEqual(await kindsOf(many), [['contradiction', 10n]])
  })

  for (const how of ['time', 'the partner'] as const)
    test(`a session that ${how} ends with parts gets a case for each part and for later money`, async () => {
      const opened = await inParts()
      const { partner, session } = opened
      await sendAll(opened, '20.00', '10.00')
      if (how === 'time') {
        service.clock.advance(hourMs)
        await service.deposits.expireDue(100)
      } else assert.equal((await service.checkout.expire(partner.partnerId, session.id)).status, 'Expired')
      const parts = ['2000 Suspended', '1000 Suspended']
      const ended = { status: 'Expired', paid: 0n, remaining: 0n, waits: 0n, balance: 0n }
      assert.deepEqual(await stateOf(opened), { ...ended, parts, suspense: 3000n })
      assert.deepEqual(await kindsOf(opened), [
        ['amount_differs', 2000n],
        ['amount_differs', 1000n],
      ])
      await sendAll(opened, '19.90')
      assert.deepEqual(await stateOf(opened), { ...ended, parts, suspense: 4990n })
      const names = (await namesOf(opened)).filter((name) => name !== 'checkout.late.payment.updated')
      assert.deepEqual(names.slice(-2), ['expired', 'transaction.status.changed'])
      // Persons give each part to its owner: a deposit of its own.
      for (const { id, kind } of await service.cases.about(service.db, partner.partnerId, [
        await depositIdOf(opened),
      ])) {
        assert.equal(kind, 'amount_differs')
        const key = { partnerId: partner.partnerId, id }
        const proposing = {
          ...key,
          action: 'match',
          customerId: partner.customer.id,
          staff: 'Sam',
          note: 'Kept.',
        } as const
        await service.db.transaction((tx) => service.decisions.propose(tx, proposing))
        await service.db.transaction((tx) => service.decisions.approve(tx, { ...key, staff: 'Ada Other' }))
      }
      assert.deepEqual(await stateOf(opened), { ...ended, parts, balance: 3000n, suspense: 1990n })
    })

  test('a part that the bank reverses before completion is due again', async () => {
    const opened = await inParts()
    await sendAll(opened, '20.00', '10.00')
    await reverseLast(opened)
    const parts = ['2000 Held', '1000 Reversed']
    const state = { status: 'Open', paid: 2000n, remaining: 2990n, waits: 2000n, balance: 0n, suspense: 0n }
    assert.deepEqual(await stateOf(opened), { ...state, parts })
    assert.deepEqual(await kindsOf(opened), [['credit_reversed', null]])
    const last = (await eventsOf(opened)).at(-1)
    assert.deepEqual([last?.type, last?.data.status, last?.data.paidAmount], ['checkout.part.updated', 'Reversed', 20])
    await sendAll(opened, '29.90')
    assert.deepEqual(await stateOf(opened), { ...done, parts: ['2000 Credited', '1000 Reversed', '2990 Credited'] })
  })

  test('if the bank reverses a part of a paid session, its money leaves the balance and suspense, and the receipt is not found', async () => {
    const opened = await inParts()
    await sendAll(opened, '20.00', '30.00')
    assert.equal((await service.checkout.receipt(opened.token)).payment.parts.length, 2)
    const credit = await service.db.row<{ creditId: string }>(sql`
    select credit_id from deposits.parts where partner_id = ${opened.partner.partnerId} and amount = 2990`)
    const reversal = {
      ...{ kind: 'credit.reversed' as const, partnerId: opened.partner.partnerId, id: newId(), details: 'Recalled.' },
      ...{ subjectId: credit?.creditId ?? '', money: { currency: 'EUR' as const, amount: 3000n } },
    } as const
    for (const applied of [true, false])
      assert.equal((await service.deposits.processReversal('sandbox', reversal)).applied, applied)
    const parts = ['2000 Credited', '2990 Reversed']
    const state = { status: 'Completed', paid: 2000n, remaining: 0n, waits: 0n, balance: 2000n, suspense: 0n }
    assert.deepEqual(await stateOf(opened), { ...state, parts })
    await assert.rejects(service.checkout.receipt(opened.token), hasCode('not_found'))
  })

  test('a part that arrives on a blocked account ends the session, with a case for each part', async () => {
    const opened = await inParts()
    const { partnerId, customer } = opened.partner
    await sendAll(opened, '20.00')
    const block = {
      partnerId,
      account: { customerRef: customer.id },
      state: 'BlockedInbound',
      reason: 'CourtOrder',
    } as const
    await service.db.transaction((tx) => service.accounts.changeState(tx, { ...block, note: 'Order 17', staff: 'Ada' }))
    await sendAll(opened, '29.90')
    const parts = ['2000 Suspended', '2990 Suspended']
    const ended = { status: 'Failed', paid: 0n, remaining: 0n, waits: 0n, balance: 0n, suspense: 4990n }
    assert.deepEqual(await stateOf(opened), { ...ended, parts })
    assert.deepEqual(new Set((await kindsOf(opened)).map(([kind]) => kind)), new Set(['account_blocked']))
  })

  test('a refund names its part if there are several, goes to its payer, and never exceeds the part', async () => {
    const opened = await inParts()
    const { partner, session } = opened
    await send(opened, '20.00', 'Grace Hopper')
    await settle()
    type Asked = Partial<Parameters<Service['checkout']['refund']>[2]>
    const refund = (amount: string, fields: Asked = {}) =>
      service.checkout.refund(
        partner.caller,
        session.id,
        { amount: rawNumber(amount), idempotencyKey: newId(), ...fields },
        ip,
      )
    await assert.rejects(refund('5.00'), hasCode('checkout_session_not_paid'))
    await send(opened, '29.90', 'Ada Lovelace')
    await settle()
    await assert.rejects(refund('5.00'), hasCode('validation_failed'))
    await assert.rejects(refund('5.00', { partId: newId() }), hasCode('validation_failed'))
    const { parts } = await service.checkout.get(partner.partnerId, session.id)
    const [ofGrace = '', ofAda = ''] = parts.map(({ id }) => id)
    await assert.rejects(refund('20.01', { partId: ofGrace }), hasCode('refund_exceeds_payment'))
    const both = await Promise.allSettled([refund('15.00', { partId: ofGrace }), refund('15.00', { partId: ofGrace })])
    assert.equal(both.filter(({ status }) => status === 'fulfilled').length, 1)
    const ada = await refund('29.90', { partId: ofAda })
    assert.deepEqual([ada.payout.creditorName, ada.row.partId], ['Ada Lovelace', ofAda])
    await assert.rejects(refund('5.01', { partId: ofGrace }), hasCode('refund_exceeds_payment'))
    await refund('5.00', { partId: ofGrace })
    const single = await inParts()
    await sendAll(single, '49.90')
    const made = await service.checkout.refund(
      single.partner.caller,
      single.session.id,
      { amount: rawNumber('1.00'), idempotencyKey: newId() },
      ip,
    )
    assert.equal(
      made.row.partId,
      (await service.checkout.get(single.partner.partnerId, single.session.id)).parts[0]?.id,
    )
    const exact = await open()
    await sendAll(exact, '49.90')
    const named = { amount: rawNumber('1.00'), idempotencyKey: newId(), partId: newId() }
    await assert.rejects(
      service.checkout.refund(exact.partner.caller, exact.session.id, named, ip),
      hasCode('validation_failed'),
    )
  })

  test('an erasure removes the payers of the parts', async () => {
    const opened = await inParts()
    const { partnerId, customer } = opened.partner
    await sendAll(opened, '20.00', '29.90')
    await service.db.transaction((tx) => service.deposits.eraseFields(tx, partnerId, [opened.session.reference], 'all'))
    const rows = await service.db.rows<{ report: string | null }>(sql`
    select report from deposits.parts where partner_id = ${partnerId}`)
    assert.deepEqual(pluck(rows, 'report'), [null, null], customer.id)
    const { parts } = await service.checkout.get(partnerId, opened.session.id)
    assert.deepEqual(pluck(parts, 'debtorName'), ['', ''])
  })

  for (const outcome of ['received', 'refused'] as const)
    test(`a part with missing payer data is held, and is ${outcome === 'received' ? 'credited' : 'sent back'} when the data are ${outcome}`, async () => {
      const { payers } = service.deposits
      const rule = { region: 'inside', currency: 'EUR', above: 0n } as const
      await service.db.transaction((tx) => payers.setRule(tx, { ...rule, measure: 'ask', answerDays: 3 }))
      const opened = await inParts()
      await send(opened, '20.00', 'N/A')
      await settle()
      assert.deepEqual(await kindsOf(opened), [['payer_data_missing', 2000n]])
      await service.db.transaction((tx) => payers.removeRule(tx, rule))
      const [waiting] = await payers.waiting(service.db, 1)
      assert.ok(waiting)
      const answer = outcome === 'received' ? { name: 'Grace Hopper' } : null
      await service.db.transaction((tx) => payers.decide(tx, waiting, answer))
      await screenAll(service)
      await look()
      if (outcome === 'received') {
        await sendAll(opened, '29.90')
        assert.deepEqual(await stateOf(opened), { ...done, parts: ['2000 Credited', '2990 Credited'] })
        return
      }
      const { status, suspense } = await stateOf(opened)
      assert.deepEqual([status, suspense], ['Failed', 2000n])
      const returns = await service.db.rows(sql`select amount, creditor_name from cases.returns
      where partner_id = ${opened.partner.partnerId}`)
      assert.deepEqual(returns, [{ amount: 2000n, creditorName: 'N/A' }])
    })

  test('a part that a rule accepts does not release a part with missing payer data', async () => {
    const { payers } = service.deposits
    const rule = { region: 'inside', currency: 'EUR', above: 10_00n } as const
    await service.db.transaction((tx) => payers.setRule(tx, { ...rule, measure: 'ask', answerDays: 3 }))
    const opened = await inParts()
    const { partnerId } = opened.partner
    await send(opened, '20.00', 'N/A')
    await settle()
    await sendAll(opened, '1.00')
    await send(opened, '5.00', 'N/A')
    await settle()
    await screenAll(service)
    const lookLater = async () => {
      service.clock.advance(minuteMs)
      await look()
    }
    await lookLater()
    const kept = {
      status: 'Processing',
      parts: [],
      waits: 0n,
      balance: 0n,
      paid: 0n,
      remaining: 4990n,
      suspense: 2600n,
    }
    assert.deepEqual(await stateOf(opened), kept)
    const kinds = [2000n, 100n, 500n].map((amount) => ['payer_data_missing', amount])
    assert.deepEqual(await kindsOf(opened), kinds)
    const [waiting] = (await payers.waiting(service.db, 10)).filter((check) => check.partnerId === partnerId)
    assert.equal(waiting?.amount, 2000n)
    await service.db.transaction((tx) => payers.decide(tx, present(waiting, 'it waits'), { name: 'Ada Lovelace' }))
    // A part that comes after the answer, and lacks nothing, asks nothing again.
    await sendAll(opened, '23.90')
    await screenAll(service)
    await lookLater()
    assert.deepEqual(await stateOf(opened), {
      ...done,
      parts: ['2000 Credited', '100 Credited', '500 Credited', '2390 Credited'],
    })
    await service.db.transaction((tx) => payers.removeRule(tx, rule))
  })

  test('missing data of a reversed part do not withhold later parts', async () => {
    const { payers } = service.deposits
    const rule = { region: 'inside', currency: 'EUR', above: 10_00n } as const
    await service.db.transaction((tx) => payers.setRule(tx, { ...rule, measure: 'ask', answerDays: 3 }))
    const opened = await inParts()
    await send(opened, '20.00', 'N/A')
    await settle()
    await reverseLast(opened)
    await sendAll(opened, '49.90')
    await screenAll(service)
    await look()
    assert.deepEqual(await stateOf(opened), { ...done, parts: ['2000 Reversed', '4990 Credited'] })
    await service.db.transaction((tx) => payers.removeRule(tx, rule))
  })

  test('an answer cannot apply to parts of two payers, and the rule applies to the amount of each part alone', async () => {
    const { payers } = service.deposits
    const rule = { region: 'outside', currency: 'EUR', above: 0n } as const
    await service.db.transaction((tx) => payers.setRule(tx, { ...rule, measure: 'ask', answerDays: 3 }))
    const credit = (
      opened: OpenedSession,
      amount: bigint,
      debtor: { readonly account: string; readonly name: string },
    ) =>
      service.deposits.processCredit('sandbox', {
        ...{ partnerId: opened.partner.partnerId, id: newId(), subjectId: newId(), kind: 'credit.booked' as const },
        ...{ account: opened.session.iban, money: { currency: 'EUR' as const, amount }, endToEndId: null },
        remittance: opened.session.creditorReference,
        debtor: { bic: 'NWBKGB2LXXX', countryCode: 'GB', address: null, ...debtor },
      })
    const decide = async ({ partner: { partnerId } }: OpenedSession, answer: Parameters<typeof payers.decide>[2]) => {
      const waiting = (await payers.waiting(service.db, 100)).find((check) => check.partnerId === partnerId)
      return service.db.transaction((tx) => payers.decide(tx, present(waiting, 'it waits'), answer))
    }
    const account = 'GB29NWBK60161331926819'
    const amount = rawNumber('5000.00')
    const opened = await open({ partialPayments: true, amount })
    await credit(opened, 3000_00n, { account, name: 'N/A' })
    await credit(opened, 10_00n, { account, name: 'N/A' })
    await assert.rejects(decide(opened, { name: 'Grace Hopper' }), /still missing: address/)
    await decide(opened, { name: 'Grace Hopper', address: '1 High Street, London, GB' })
    const ofTwo = await open({ partialPayments: true, amount })
    await credit(ofTwo, 3000_00n, { account, name: 'Grace Hopper' })
    await credit(ofTwo, 1500_00n, { account: 'GB33BUKB20201555555555', name: 'Ada Lovelace' })
    await assert.rejects(decide(ofTwo, { address: '1 High Street, London, GB' }), /several payers/)
    await service.db.transaction((tx) => payers.removeRule(tx, rule))
  })

  const look = async () => {
    service.clock.advance(6 * secondMs)
    await service.deposits.screenDue(100)
  }

  for (const outcome of ['clear', 'confirm'] as const)
    for (const isLast of [false, true])
      test(`a ${isLast ? 'last ' : ''}part of a listed name waits in suspense: ${outcome}`, async () => {
        await service.screening.lists.load(await sampleList(), 'Sam Staff')
        const opened = await inParts(await addPartner(service))
        await screenAll(service)
        const { partnerId } = opened.partner
        await sendAll(opened, '10.00')
        await send(opened, isLast ? '29.90' : '20.00', listedName)
        await settle()
        const held = isLast ? 2990n : 2000n
        const state = { status: 'Processing', paid: 1000n, remaining: 3990n, parts: ['1000 Held'], balance: 0n }
        assert.deepEqual(await stateOf(opened), { ...state, waits: 1000n, suspense: held })
        // Another payer, while the name is under review.
        await sendAll(opened, '10.00')
        assert.deepEqual(await stateOf(opened), { ...state, waits: 1000n, suspense: held + 1000n })
        await look()
        assert.equal(await statusOf(opened), 'Processing', 'no person has decided')
        await screenAll(service)
        await decideAll(service, partnerId, outcome)
        await look()
        const parts = ['1000', `${held}`, '1000']
        if (outcome === 'confirm') {
          const frozen = { status: 'Failed', paid: 0n, remaining: 0n, waits: 0n, balance: 0n, suspense: held + 2000n }
          assert.deepEqual(await stateOf(opened), { ...frozen, parts: parts.map((part) => `${part} Suspended`) })
          assert.deepEqual(new Set((await kindsOf(opened)).map(([kind]) => kind)), new Set(['sanctions_hold']))
        } else if (isLast)
          assert.deepEqual(await stateOf(opened), { ...done, parts: parts.map((part) => `${part} Credited`) })
        else {
          const resumed = { status: 'Open', paid: 4000n, remaining: 990n, waits: 4000n, balance: 0n, suspense: 0n }
          assert.deepEqual(await stateOf(opened), { ...resumed, parts: parts.map((part) => `${part} Held`) })
          await sendAll(opened, '9.90')
          assert.equal(await statusOf(opened), 'Completed')
        }
      })

  test('a part under review that the bank reverses leaves suspense, and the session continues when the name is decided', async () => {
    const opened = await inParts(await addPartner(service))
    await screenAll(service)
    await send(opened, '20.00', listedName)
    await settle()
    await reverseLast(opened)
    const state = { paid: 0n, remaining: 4990n, parts: ['2000 Reversed'], waits: 0n, balance: 0n, suspense: 0n }
    assert.deepEqual(await stateOf(opened), { ...state, status: 'Processing' })
    await screenAll(service)
    await decideAll(service, opened.partner.partnerId, 'clear')
    await look()
    assert.deepEqual(await stateOf(opened), { ...state, status: 'Open' })
    await sendAll(opened, '49.90')
    assert.equal(await statusOf(opened), 'Completed')
  })
})

suite('parts in the ledger', async () => {
  // Without the lists that the suite above has loaded: with them a part waits until its name is compared.
  const service = await useModules()
  const { open, eventsOf, inParts, sendAll, stateOf } = createSessionsInParts(() => service)

  const undo = ({ partner: { partnerId }, session: { reference } }: OpenedSession, partId?: string) =>
    service.db.transaction((tx) => service.deposits.undoCredit(tx, { partnerId, reference, partId }))

  test('a part matched by mistake is removed from the session, and its money is in suspense with a case', async () => {
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

  test('removing a part of a completed session debits the balance by a transaction, unless the balance is too low or a refund is open', async () => {
    const opened = await inParts()
    await sendAll(opened, '20.00', '29.90')
    const { partnerId, caller } = opened.partner
    const [first, second] = (await service.checkout.get(partnerId, opened.session.id)).parts.map(({ id }) => id)
    const both = await Promise.allSettled([undo(opened, first), undo(opened, first)])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    const state = { ...done, paid: 2990n, balance: 2990n, suspense: 2000n, parts: ['2000 Reversed', '2990 Credited'] }
    assert.deepEqual(await stateOf(opened), state)
    await pay(service, opened.partner, '1.00')
    await assert.rejects(undo(opened, second), hasCode('validation_failed'))
    const refund = { amount: rawNumber('1.00'), idempotencyKey: newId(), partId: second ?? '' }
    const sent = await service.checkout.refund(caller, opened.session.id, refund, ip)
    await submitDuePayouts(service.settlement)
    await assert.rejects(undo(opened, second), new RegExp(`is refunded by ${sent.payout.reference}`))
    const exact = await open()
    await sendAll(exact, '49.90')
    await assert.rejects(undo(exact, newId()), /leave --part out/)
  })

  test('a refund that no worker has begun is cancelled when its payment is reversed', async () => {
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

  test('safeguarding counts held parts as money of customers, even after one was removed', async () => {
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
        const lines: ReportLine[] = []
        await bank.db.transaction(async (tx) => {
          await useSnapshot(tx)
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
})
