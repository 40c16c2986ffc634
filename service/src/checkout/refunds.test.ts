/** Refunds of sessions, and races about sessions. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { bodyFor, hasCode, createSessions, type OpenedSession } from '../../../test/support/checkout.ts'
import { addPartner, balanceOf, ip, type Service, stepMsDefault } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { setApprovalRule } from '../../../test/support/approvals.ts'
import { Refusal } from '../kernel/api/index.ts'
import { newId, present } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { operatorRequester } from '../payouts/recalls/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
const service = await useModules()

suite('refunds', () => {
  const { open, settle, casesOf } = createSessions(() => service)
  type Body = Parameters<Service['checkout']['refund']>[2]

  async function paid(
    debtorName = 'Grace Hopper',
    fields: Parameters<typeof open>[0] = {},
    given?: OpenedSession['partner'],
  ): Promise<OpenedSession> {
    const opened = await open(fields, given)
    const { partner, session } = opened
    await service.checkout.simulate(partner.partnerId, session.id, { step: 'credit', debtorName }, ip)
    await settle()
    return opened
  }

  const refund = ({ partner, session }: OpenedSession, amount: string, fields: Partial<Body> = {}) =>
    service.checkout.refund(
      partner.caller,
      session.id,
      { amount: rawNumber(amount), idempotencyKey: newId(), ...fields },
      ip,
    )
  const refundedOf = async ({ partner, session }: OpenedSession) =>
    (await service.checkout.get(partner.partnerId, session.id)).refundedAmount

  /** Lets the bank take, and end, everything that is due. */
  async function work(): Promise<void> {
    for (let rounds = 0; rounds < 4; rounds += 1) {
      await submitDuePayouts(service.settlement)
      service.clock.advance(stepMsDefault)
      while ((await processBankNotifications(service.settlement)) > 0);
    }
  }
  const eventsOf = async ({ partner: { partnerId } }: OpenedSession) =>
    (
      await service.db.rows<{ data: string }>(sql`
      select data from events.events where partner_id = ${partnerId} and type = 'checkout.refund.updated' order by id`)
    ).map(
      ({ data }) =>
        JSON.parse(data) as { readonly refundId: string; readonly sessionId: string; readonly status: string },
    )

  test('parts of a payment go back to the account that paid, and both transactions refer to each other', async () => {
    const opened = await paid()
    const { partner, session } = opened
    const { partnerId } = partner
    const first = await refund(opened, '9.90', { reason: 'Damaged.', reference: 'Refund of order 42' })
    const second = await refund(opened, '40.00')
    assert.equal(await refundedOf(opened), 4990n)
    await work()
    const { data } = await service.checkout.listRefunds(partnerId, session.id, {})
    assert.deepEqual(
      data.map(({ row, payout }) => [row.id, row.reason, payout.amount, payout.status]),
      [
        [second.row.id, null, 4000n, 'Completed'],
        [first.row.id, 'Damaged.', 990n, 'Completed'],
      ],
    )
    const { row: payment } = await service.transactions.get(partnerId, session.reference)
    const { iban, accountHolderName } = JSON.parse(payment.debtor ?? '{}') as Record<string, string>
    for (const { payout } of data) {
      assert.deepEqual([payout.creditorAccount, payout.creditorName], [iban, accountHolderName])
      const { row } = await service.transactions.get(partnerId, payout.reference)
      assert.deepEqual(
        [row.type, row.status, row.originatingReference],
        ['CustomerRefund', 'Completed', session.reference],
      )
    }
    const { related } = await service.transactions.related(partnerId, session.reference)
    assert.deepEqual(
      related.map(({ relation }) => relation),
      ['Refund', 'Refund'],
    )
    assert.deepEqual(
      (await eventsOf(opened)).map(({ refundId, sessionId, status }) => [refundId, sessionId, status]).sort(),
      [first, second]
        .flatMap(({ row }) => ['Pending', 'Completed'].map((status) => [row.id, session.id, status]))
        .sort(),
    )
    assert.equal((await balanceOf(service, partnerId)).posted, 0n)
    await checkLedger(service.db, partnerId)
  })

  test('no refund exceeds the remaining amount, and the response states it', async () => {
    const opened = await paid()
    await refund(opened, '40.00')
    await assert.rejects(refund(opened, '9.91'), (error: unknown) => {
      assert.ok(error instanceof Refusal)
      assert.deepEqual([error.code, error.errors[0]?.pointer], ['refund_exceeds_payment', '/amount'])
      assert.match(error.errors[0]?.message ?? '', /at most 9\.90 EUR/)
      return true
    })
    await refund(opened, '9.90')
    assert.equal(await refundedOf(opened), 4990n)
  })

  test('of ten concurrent refunds, as many are created as the payment covers, even if the balance has more money', async () => {
    const opened = await paid()
    const { partner } = opened
    await service.db.transaction((tx) =>
      service.deposits.creditPartner(tx, partner.partnerId, {
        debit: 'settlement.sandbox',
        currency: 'EUR',
        amount: 1000_00n,
      }),
    )
    const answers = await Promise.allSettled(Array.from({ length: 10 }, () => refund(opened, '10.00')))
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
    assert.equal(refused.length, 6)
    for (const reason of refused) assert.ok(hasCode('refund_exceeds_payment')(reason), String(reason))
    assert.equal(await refundedOf(opened), 4000n)
    await work()
    assert.equal((await balanceOf(service, partner.partnerId)).posted, 1009_90n)
    await checkLedger(service.db, partner.partnerId)
  })

  test('ten requests with one key create one refund, and the key is refused for another body or session', async () => {
    const opened = await paid()
    const fields = { idempotencyKey: newId() }
    const made = await Promise.all(Array.from({ length: 10 }, () => refund(opened, '5.00', fields)))
    assert.equal(new Set(made.map(({ row }) => row.id)).size, 1)
    assert.equal(made.filter(({ replayed }) => !replayed).length, 1)
    assert.equal((await refund(opened, '5', fields)).replayed, true)
    await assert.rejects(refund(opened, '5.01', fields), hasCode('idempotency_key_reused'))
    await assert.rejects(refund(opened, '5.00', { ...fields, reason: 'Another.' }), hasCode('idempotency_key_reused'))
    const other = await open({}, opened.partner)
    await assert.rejects(refund(other, '5.00', fields), hasCode('idempotency_key_reused'))
    assert.equal(await refundedOf(opened), 500n)
  })

  test('a rejected refund and a cancelled refund free their amounts again', async () => {
    const opened = await paid('Sandbox Rejected')
    const { partnerId } = opened.partner
    const { row: rejected } = await refund(opened, '49.90')
    await assert.rejects(refund(opened, '0.01'), hasCode('refund_exceeds_payment'))
    await work()
    assert.equal((await service.checkout.getRefund(partnerId, opened.session.id, rejected.id)).payout.status, 'Failed')
    assert.equal(await refundedOf(opened), 0n)
    const { row } = await refund(opened, '49.90')
    await service.payouts.cancel(partnerId, row.id)
    assert.equal(await refundedOf(opened), 0n)
    assert.deepEqual(
      (await eventsOf(opened)).map(({ status }) => status),
      ['Pending', 'Failed', 'Pending', 'Cancelled'],
    )
    assert.equal((await balanceOf(service, partnerId)).posted, 4990n)
    await checkLedger(service.db, partnerId)
  })

  test('the receipt shows refunds with their times, but not refunds that the partner has not decided', async () => {
    const opened = await paid()
    const { partner, token } = opened
    const { partnerId, caller } = partner
    const shown = async () => {
      const { refunds } = await service.checkout.receipt(token)
      return refunds.map(({ amount, state }) => [amount, state])
    }
    assert.deepEqual(await shown(), [])
    const madeAt = service.clock.now()
    await refund(opened, '9.90', { reason: 'Grace is a friend.' })
    assert.deepEqual(await shown(), [[990n, 'underWay']])
    await work()
    const [sent, ...others] = (await service.checkout.receipt(token)).refunds
    assert.deepEqual([sent?.amount, sent?.state, others], [990n, 'sent', []])
    assert.ok(sent !== undefined && sent.at > madeAt, 'the day on which it was sent')
    await setApprovalRule(service, partnerId, { aboveAmount: 10_00n })
    const { row } = await refund(opened, '20.00')
    assert.deepEqual(await shown(), [[990n, 'sent']])
    const another = { ...caller, serviceAccountId: newId(), name: 'Another' }
    await service.payouts.reject(another, row.id, 'Not now.')
    await refund(opened, '5.00').then(({ row: { id } }) => service.payouts.cancel(partnerId, id))
    assert.deepEqual(await shown(), [[990n, 'sent']])
    await service.payouts.approve(another, (await refund(opened, '20.01')).row.id)
    assert.deepEqual(await shown(), [
      [2001n, 'underWay'],
      [990n, 'sent'],
    ])
    const other = await paid('Sandbox Rejected')
    await refund(other, '49.90')
    await work()
    const receipt = await service.checkout.receipt(other.token)
    assert.deepEqual(
      receipt.refunds.map(({ amount, state }) => [amount, state]),
      [[4990n, 'failed']],
    )
  })

  test('if a refund races a reversal of the payment, the money leaves the balance exactly once', async () => {
    for (const isRefundFirst of [true, false]) {
      const opened = await paid()
      const { partner, session } = opened
      await reverse(opened)
      const ask = () => refund(opened, '49.90').catch((error: unknown) => error)
      const [answer] = isRefundFirst
        ? await Promise.all([ask(), take()])
        : (await Promise.all([take(), ask()])).reverse()
      const isRefused = hasCode('checkout_session_not_paid')(answer) || hasCode('insufficient_funds')(answer)
      const { data } = await service.checkout.listRefunds(partner.partnerId, session.id, {})
      assert.deepEqual(
        data.map(({ payout }) => payout.status),
        isRefused ? [] : ['Cancelled'],
      )
      assert.equal(await refundedOf(opened), 0n)
      await work()
      assert.equal((await balanceOf(service, partner.partnerId)).posted, 0n)
      assert.equal((await casesOf(partner.partnerId)).length, 1)
      await assert.rejects(refund(opened, '0.01'), hasCode('checkout_session_not_paid'))
      await checkLedger(service.db, partner.partnerId)
    }
  })

  const take = async () => {
    while ((await processBankNotifications(service.settlement)) > 0);
  }
  /** The bank takes the payment back. */
  async function reverse({ partner, session }: OpenedSession): Promise<void> {
    await service.checkout.simulate(partner.partnerId, session.id, { step: 'reverse' }, ip)
    service.clock.advance(stepMsDefault)
  }
  async function reversalCaseOf({ partner: { partnerId } }: OpenedSession) {
    const found = (await service.cases.list(undefined, 1000)).find(
      (one) => one.partnerId === partnerId && one.kind === 'credit_reversed',
    )
    return present(found, 'the case of the reversal')
  }

  test('when a bank reverses a payment, unsent refunds are cancelled, and its case names the others', async () => {
    const opened = await paid()
    const { partner } = opened
    const { partnerId } = partner
    const sent = await refund(opened, '9.90')
    await work()
    const waiting = await refund(opened, '5.00')
    const { row } = await refund(opened, '1.00')
    await service.payouts.cancel(partnerId, row.id)
    await refund(await paid('Grace Hopper', {}, partner), '2.00')
    await reverse(opened)
    await Promise.all([take(), take()])
    const { id, report, booked } = await reversalCaseOf(opened)
    const named = { status: 'Cancelled', currency: 'EUR', amount: '5.00' }
    assert.deepEqual((JSON.parse(report) as { refunds: unknown }).refunds, [
      { payoutId: waiting.row.id, reference: waiting.payout.reference, ...named },
      { payoutId: sent.row.id, reference: sent.payout.reference, ...named, status: 'Completed', amount: '9.90' },
    ])
    const { timeline } = await service.transactions.get(partnerId, waiting.payout.reference)
    assert.deepEqual(timeline.map(({ step, actor }) => [step, actor]).at(-1), ['Cancelled', 'bank'])
    // The other payment covers the claim: nothing is owed.
    assert.deepEqual([booked, (await balanceOf(service, partnerId)).posted], [null, 4000n])
    const recall = await service.recalls.create(operatorRequester(partnerId), sent.row.id, { reason: 'DUPL' })
    assert.deepEqual([recall.status, recall.requestedName], ['Requested', 'operator'])
    const { data } = await service.checkout.listRefunds(partnerId, opened.session.id, {})
    assert.deepEqual(
      data.map(({ payout }) => payout.status),
      ['Cancelled', 'Cancelled', 'Completed'],
    )
    assert.equal((await service.cases.byId(service.db, partnerId, id))?.resolution, null)
    await work()
    await checkLedger(service.db, partnerId)
  })

  test('a refund to a listed party stays Pending when the payment is reversed, and the other refunds are cancelled', async () => {
    const opened = await paid()
    const { partnerId } = opened.partner
    const [listed, free] = [await refund(opened, '9.90'), await refund(opened, '5.00')]
    const { id } = listed.row
    const named = { connector: 'sandbox', notificationId: `payout ${id}`, subject: id } as const
    const frozen = {
      partnerId,
      id,
      kind: 'sanctions_hold',
      ...named,
      report: { kind: 'payout' },
      booked: null,
    } as const
    await service.db.transaction((tx) => service.cases.record(tx, [frozen]))
    await reverse(opened)
    await take()
    const statusOf = async ({ row }: typeof free) => (await service.payouts.get(partnerId, row.id)).status
    assert.deepEqual([await statusOf(listed), await statusOf(free)], ['Pending', 'Cancelled'])
  })

  test('a partner owes the part of a reversal that its balance does not cover, and pays it when it can', async () => {
    const opened = await paid()
    const { partnerId } = opened.partner
    await refund(opened, '9.90')
    await work()
    await reverse(opened)
    await take()
    const { id, booked } = await reversalCaseOf(opened)
    assert.deepEqual([booked, (await balanceOf(service, partnerId)).posted], [-4990n, 4000n])
    const { db, decisions } = service
    const charge = () => db.transaction((tx) => decisions.approve(tx, { partnerId, id, staff: 'Grace' }))
    const proposed = {
      partnerId,
      id,
      action: 'charge',
      toPartnerId: partnerId,
      staff: 'Ada',
      note: 'Paid twice',
    } as const
    await db.transaction((tx) => decisions.propose(tx, proposed))
    await assert.rejects(charge(), hasCode('validation_failed'))
    await paid('Grace Hopper', {}, opened.partner)
    await charge()
    assert.equal((await balanceOf(service, partnerId)).posted, 4000n)
    await checkLedger(db, partnerId)
  })

  test('a refund that is sent while its payment is reversed is cancelled, or the partner owes it', async () => {
    for (let round = 0; round < 4; round += 1) {
      const opened = await paid()
      const { partnerId } = opened.partner
      const { row } = await refund(opened, '49.90')
      await reverse(opened)
      const send = () => submitDuePayouts(service.settlement)
      await Promise.all(round % 2 === 0 ? [send(), take()] : [take(), send()])
      await work()
      const { status } = await service.payouts.get(partnerId, row.id)
      assert.ok(status === 'Cancelled' || status === 'Completed', status)
      assert.deepEqual(
        [(await reversalCaseOf(opened)).booked, (await balanceOf(service, partnerId)).posted],
        [status === 'Cancelled' ? null : -4990n, 0n],
      )
      await checkLedger(service.db, partnerId)
    }
  })

  test('a refund is refused if the session is unpaid or of another partner, or its payer cannot be paid', async () => {
    const unpaid = await open()
    await assert.rejects(refund(unpaid, '1.00'), hasCode('checkout_session_not_paid'))
    const opened = await paid()
    const { partner, session } = opened
    const other = await addPartner(service)
    await assert.rejects(refund({ ...opened, partner: other }, '1.00'), hasCode('not_found'))
    await assert.rejects(service.checkout.listRefunds(other.partnerId, session.id, {}), hasCode('not_found'))
    const { row } = await refund(opened, '1.00')
    await assert.rejects(service.checkout.getRefund(other.partnerId, session.id, row.id), hasCode('not_found'))
    await assert.rejects(service.checkout.getRefund(partner.partnerId, unpaid.session.id, row.id), hasCode('not_found'))
    for (const amount of ['0', '-1', '1.001'])
      await assert.rejects(refund(opened, amount), hasCode('validation_failed'))
    for (const account of ['', 'not an account']) {
      await service.db.run(sql`
      update deposits.deposits set debtor = (debtor::jsonb || jsonb_build_object('account', ${account}::text))::text
      where partner_id = ${partner.partnerId}`)
      await assert.rejects(refund(opened, '1.00'), hasCode('payer_account_unknown'))
    }
  })

  test('an erased customer gets no refund, and the reason of an earlier one is erased', async () => {
    const opened = await paid()
    const { partner, session } = opened
    const { row } = await refund(opened, '1.00', { reason: 'Grace Hopper called.' })
    await work()
    await service.personalData.erasures.erase(partner.partnerId, session.customerId, true)
    await assert.rejects(refund(opened, '1.00'), hasCode('payer_account_unknown'))
    while ((await service.personalData.erasures.step()) > 0);
    assert.equal((await service.checkout.getRefund(partner.partnerId, session.id, row.id)).row.reason, null)
  })
})

suite('races', () => {
  const { open, settle, statusOf, namesOf, casesOf, goToBank } = createSessions(() => service)

  test('a session that is paid twice completes once in any order, and the second payment is in suspense', async () => {
    for (const creditFirst of [true, false]) {
      const opened = await open()
      const { partner, session } = opened
      const credit = () =>
        service.checkout.simulate(partner.partnerId, session.id, { step: 'credit', debtorName: 'Another' }, ip)
      await goToBank(opened)
      if (creditFirst) {
        await service.checkout.decide(opened.token, 'approved')
        // The credit is processed before what the approval has scheduled.
        const { row } = await service.transactions.get(partner.partnerId, session.reference)
        assert.equal(row.status, 'Pending')
        await credit()
        const [scheduled] = await service.db.rows<{ payload: string }>(sql`
        delete from rails.sandbox_notifications where partner_id = ${partner.partnerId} and kind = 'credit.booked'
        returning payload`)
        const { money, ...facts } = JSON.parse(present(scheduled, 'a credit is scheduled').payload) as {
          money: { currency: 'EUR'; amount: string }
          account: string
          debtor: never
          remittance: string
          endToEndId: null
        }
        const notification = {
          partnerId: partner.partnerId,
          id: newId(),
          subjectId: newId(),
          kind: 'credit.booked',
        } as const
        await service.deposits.processCredit('sandbox', {
          ...notification,
          ...facts,
          money: { ...money, amount: BigInt(money.amount) },
        })
        assert.equal(await statusOf(opened), 'Completed')
        await settle()
      } else {
        await service.checkout.decide(opened.token, 'approved')
        await settle()
        await credit()
        await settle()
      }
      assert.equal(await statusOf(opened), 'Completed')
      assert.equal((await namesOf(opened)).filter((name) => name === 'completed').length, 1)
      assert.deepEqual(
        (await casesOf(partner.partnerId)).map(({ kind, amount }) => [kind, amount]),
        [['contradiction', 4990n]],
      )
      assert.equal((await balanceOf(service, partner.partnerId)).posted, 4990n)
    }
  })

  test('money for an expired session goes to suspense, and no completed event follows', async () => {
    const byCredit = await open()
    const byBank = await open({}, byCredit.partner)
    await goToBank(byBank)
    await service.checkout.decide(byBank.token, 'approved')
    for (const { partner, session } of [byCredit, byBank]) {
      assert.equal((await service.checkout.expire(partner.partnerId, session.id)).status, 'Expired')
      await service.checkout.simulate(partner.partnerId, session.id, { step: 'credit' }, ip)
    }
    await settle()
    for (const opened of [byCredit, byBank]) {
      assert.equal(await statusOf(opened), 'Expired')
      const names = (await namesOf(opened)).filter((name) => name !== 'checkout.late.payment.updated')
      assert.deepEqual(names.slice(-2), ['expired', 'transaction.status.changed'])
    }
    const cases = await casesOf(byCredit.partner.partnerId)
    // Two credits, and the settlement of the approval.
    assert.deepEqual(
      cases.map(({ kind, amount }) => [kind, amount]),
      Array(3).fill(['contradiction', 4990n]),
    )
    assert.equal((await balanceOf(service, byCredit.partner.partnerId)).posted, 0n)
  })

  test('ten requests with one key and an unknown email open one session, for one new customer', async () => {
    const partner = await addPartner(service)
    const customer = { email: 'Grace@Example.com', fullName: 'Grace Hopper', residenceCountryCode: 'FR' }
    const body = bodyFor(partner, { customer })
    const answers = await Promise.all(Array.from({ length: 10 }, () => service.checkout.create(partner.caller, body)))
    assert.equal(new Set(answers.map(({ session }) => session.url)).size, 1)
    assert.equal(answers.filter(({ replayed }) => !replayed).length, 1)
    const others = await Promise.all(
      ['grace@example.com', 'GRACE@example.com', 'grace@example.com'].map((email) =>
        service.checkout.create(partner.caller, bodyFor(partner, { customer: { email } })),
      ),
    )
    const customers = new Set([...answers, ...others].map(({ session }) => session.customerId))
    assert.equal(customers.size, 1)
    const { data } = await service.customers.list(partner.partnerId, { email: 'grace@example.com' })
    assert.deepEqual(
      data.map(({ kyc }) => kyc.fullName),
      ['Grace Hopper'],
    )
  })

  test('concurrent new sessions for one unknown email share one customer', async () => {
    const partner = await addPartner(service)
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        service.checkout.create(partner.caller, bodyFor(partner, { customer: { email: 'new@example.com' } })),
      ),
    )
    assert.equal(new Set(answers.map(({ session }) => session.customerId)).size, 1)
    assert.equal(new Set(answers.map(({ session }) => session.id)).size, 10)
  })

  test('clicks in many tabs have one effect: one start, and the first decision', async () => {
    const opened = await open()
    const { partner, token } = opened
    const tabs = <T>(work: (tab: number) => Promise<T>) =>
      Promise.all(Array.from({ length: 10 }, (_, tab) => work(tab)))
    await tabs((tab) => service.checkout.begin(token, `198.51.100.${tab}`, 'DE'))
    await tabs((tab) => service.checkout.signIn(token, `Payer ${tab}`))
    await tabs((tab) => service.checkout.decide(token, tab % 2 === 0 ? 'approved' : 'rejected'))
    await settle()
    const status = await statusOf(opened)
    const names = await namesOf(opened)
    assert.ok(status === 'Completed' || status === 'Failed', status)
    assert.deepEqual(names.filter((name) => name === 'initiated').length, 1)
    assert.equal(names.filter((name) => ['completed', 'failed'].includes(name)).length, 1)
    assert.deepEqual(await casesOf(partner.partnerId), [])
    assert.equal((await balanceOf(service, partner.partnerId)).posted, status === 'Completed' ? 4990n : 0n)
  })

  test('a session whose approval races its expiry ends in one way, and the ledger agrees', async () => {
    const partner = await addPartner(service)
    const all = await Promise.all(Array.from({ length: 12 }, () => open({}, partner)))
    for (const opened of all) await goToBank(opened)
    await settle()
    await Promise.all(
      all.flatMap(({ token, session }) => [
        service.checkout.decide(token, 'approved'),
        service.checkout.expire(partner.partnerId, session.id).catch((error: unknown) => {
          if (!hasCode('checkout_session_not_open')(error)) throw error
        }),
        processBankNotifications(service.settlement),
      ]),
    )
    await settle()
    const statuses = await Promise.all(all.map(statusOf))
    assert.ok(
      statuses.every((status) => status === 'Completed' || status === 'Expired'),
      statuses.join(),
    )
    const completed = statuses.filter((status) => status === 'Completed').length
    assert.equal((await balanceOf(service, partner.partnerId)).posted, 4990n * BigInt(completed))
    for (const [index, opened] of all.entries()) {
      const names = await namesOf(opened)
      assert.equal(names.includes('completed'), statuses[index] === 'Completed')
      assert.equal(names.includes('expired'), statuses[index] === 'Expired')
    }
  })

  test("a payer's action after the end of the session has no effect", async () => {
    const opened = await open()
    await service.checkout.expire(opened.partner.partnerId, opened.session.id)
    assert.equal(await service.checkout.begin(opened.token, ip, 'DE'), false)
    await service.checkout.signIn(opened.token, 'Late')
    await service.checkout.decide(opened.token, 'approved')
    await settle()
    assert.deepEqual(await namesOf(opened), ['created', 'expired', 'transaction.status.changed'])
    assert.deepEqual(await casesOf(opened.partner.partnerId), [])
  })
})
