/** Concurrent, repeated and late actions on the real database. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { bodyFor, code, createSessions } from '../../../test/support/checkout.ts'
import { addPartner, balanceOf, createTestService, ip, type Service } from '../../../test/support/composition.ts'
import { newId, present } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications } from '../banks/settlement/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const { open, settle, statusOf, namesOf, casesOf, goToBank } = createSessions(() => service)

test('a session that is paid twice completes once, whichever way comes first; the second money is in suspense', async () => {
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
    assert.deepEqual((await namesOf(opened)).slice(-2), ['expired', 'transaction.status.changed'])
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

test('new sessions for one unknown email at the same time have one customer', async () => {
  const partner = await addPartner(service)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () =>
      service.checkout.create(partner.caller, bodyFor(partner, { customer: { email: 'new@example.com' } })),
    ),
  )
  assert.equal(new Set(answers.map(({ session }) => session.customerId)).size, 1)
  assert.equal(new Set(answers.map(({ session }) => session.id)).size, 10)
})

test('clicks in many tabs have one effect: one beginning, and the first decision', async () => {
  const opened = await open()
  const { partner, token } = opened
  const tabs = <T>(work: (tab: number) => Promise<T>) => Promise.all(Array.from({ length: 10 }, (_, tab) => work(tab)))
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

test('an approval that meets the expiry ends the session one way, and the ledger agrees', async () => {
  const partner = await addPartner(service)
  const all = await Promise.all(Array.from({ length: 12 }, () => open({}, partner)))
  for (const opened of all) await goToBank(opened)
  await settle()
  await Promise.all(
    all.flatMap(({ token, session }) => [
      service.checkout.decide(token, 'approved'),
      service.checkout.expire(partner.partnerId, session.id).catch((error: unknown) => {
        if (!code('checkout_session_not_open')(error)) throw error
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

test('nothing follows what a payer does when the session is over', async () => {
  const opened = await open()
  await service.checkout.expire(opened.partner.partnerId, opened.session.id)
  assert.equal(await service.checkout.begin(opened.token, ip, 'DE'), false)
  await service.checkout.signIn(opened.token, 'Late')
  await service.checkout.decide(opened.token, 'approved')
  await settle()
  assert.deepEqual(await namesOf(opened), ['created', 'expired', 'transaction.status.changed'])
  assert.deepEqual(await casesOf(opened.partner.partnerId), [])
})
