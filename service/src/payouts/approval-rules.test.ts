/** Rules of approvals: at the moment of effect, by day, by signature and by payee. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber, serviceAccounts as accountsOnWire, type users as wire } from '@partner-payments/wire'
import { ip, pay, type Service, type TestPartner } from '../../../test/support/composition.ts'
import { codeOf, password } from '../../../test/support/team.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { outcomeCode } from '../../../test/support/refusals.ts'
import { addApprovers } from '../../../test/support/approvals.ts'
import { type Caller, Refusal } from '../kernel/api/index.ts'
import { dayMs, hourMs, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { submitDuePayouts } from '../banks/settlement/index.ts'
import { instructionIdOf } from './rules.ts'

suite('people whose rights have changed', async () => {
  const service = await useModules()

  const client = { ip: '203.0.113.7', userAgent: 'Test browser' }

  /** A partner whose payouts wait above 100.00, and bulks above 100.00 in all. */
  const addHolding = () => addApprovers(service, { aboveAmount: 100_00n, aboveBulkAmount: 100_00n }, 1_000_000_00n)
  type Partner = Awaited<ReturnType<typeof addHolding>>

  /** A member of the team as the console knows it. */
  async function memberOf({ caller, partnerId }: Partner, fullName: string, role: wire.Role): Promise<Caller> {
    const { users, members, mailQueue, db } = service
    const email = `${newId()}@example.com`
    await users.createInvitations(caller, { invitations: [{ email, fullName, role }] })
    const mails = await db.transaction((tx) => mailQueue.claim(tx, partnerId, 1000, 100))
    const mail = mails.find(({ toAddress }) => toAddress === email) ?? assert.fail('the invitation is mailed')
    const token = mailQueue.secretOf(mail) ?? ''
    const { totpSecret } = await members.openInvitation(token)
    const given = { kind: 'password', password, code: codeOf(totpSecret, service.clock.now().getTime()) } as const
    const signed = await members.signedIn((await members.join(token, given, client)).token)
    return signed?.caller ?? assert.fail('who joined is signed in')
  }

  /** Things that wait: how it is approved, and whether it then moves. */
  const subjects = {
    payout: async ({ beneficiary }: Partner, maker: Caller) => {
      const body = {
        amount: rawNumber('150.00'),
        currency: 'EUR',
        beneficiaryId: beneficiary.id,
        idempotencyKey: newId(),
      }
      await service.payouts.create(maker, body as never, ip)
      const [payout] = (await service.payouts.list(maker.partnerId, { status: 'PendingApproval' })).data
      const { id } = payout ?? assert.fail('it waits')
      return {
        approve: async (by: Caller) => void (await service.payouts.approve(by, id)),
        look: async (by: Caller) =>
          (await service.payouts.snapshot(by, id, { nonce: newId(), expiresAt: service.clock.now() })).hasMakerLeft,
        status: async () => (await service.payouts.get(maker.partnerId, id)).status,
      }
    },
    bulk: async ({ beneficiary }: Partner, maker: Caller) => {
      const payouts = ['60.00', '70.00'].map((amount) => ({
        ...{
          amount: rawNumber(amount),
          currency: 'EUR' as const,
          beneficiaryId: beneficiary.id,
          idempotencyKey: newId(),
        },
      }))
      const { bulk } = await service.bulkPayouts.create(
        maker,
        { mode: 'BestEffort', idempotencyKey: newId(), payouts },
        ip,
      )
      while ((await service.bulkPayouts.step()) > 0);
      return {
        approve: async (by: Caller) => {
          const { refused } = await service.payouts.approveBulk(by, bulk.id, payouts.length)
          if (refused[0]) throw refused[0].refusal
        },
        look: async (by: Caller) =>
          (await service.payouts.snapshotOfBulk(by, bulk.id, { nonce: newId(), expiresAt: service.clock.now() }))
            .hasMakerLeft,
        status: async () =>
          (await service.payouts.waitingOfBulk(maker.partnerId, bulk.id)) ? 'PendingApproval' : 'Pending',
      }
    },
  }

  const moves = {
    demoted: (partner: Partner, { serviceAccountId: id }: Caller) =>
      service.members.updateUser(partner.caller, id, { role: 'Developer' }),
    removed: (partner: Partner, { serviceAccountId: id }: Caller) => service.members.removeUser(partner.caller, id),
  }

  for (const [name, make] of Object.entries(subjects))
    for (const [what, move] of Object.entries(moves)) {
      test(`${name}: an approval by a person who was ${what} is refused, and another person can approve`, async () => {
        const partner = await addHolding()
        const [maker, approver, third] = [
          await memberOf(partner, 'Mary Maker', 'Operator'),
          await memberOf(partner, 'Alan Approver', 'Operator'),
          await memberOf(partner, 'Tina Third', 'Operator'),
        ]
        const waiting = await make(partner, maker)
        await move(partner, approver)
        await assert.rejects(
          waiting.approve(approver),
          (error) => error instanceof Refusal && /Alan Approver may no longer approve/.test(error.detail),
        )
        assert.equal(await waiting.status(), 'PendingApproval')
        await waiting.approve(third)
        assert.equal(await waiting.status(), 'Pending')
      })
      test(`${name}: the request of a creator who was ${what} stays valid, and its approver sees that the creator has left`, async () => {
        const partner = await addHolding()
        const [maker, approver] = [
          await memberOf(partner, 'Mary Maker', 'Operator'),
          await memberOf(partner, 'Alan Approver', 'Operator'),
        ]
        const waiting = await make(partner, maker)
        assert.equal(await waiting.look(approver), false)
        await move(partner, maker)
        assert.equal(await waiting.look(approver), true)
        await waiting.approve(approver)
        assert.equal(await waiting.status(), 'Pending')
      })
    }
})

suite('daily sum', async () => {
  const service = await useModules()
  const other = await service.anotherProcess()

  /** A partner of whose payouts 100.00 a day leave without an approval. */
  const addHolding = (aboveAmount: bigint | null = null) =>
    addApprovers(service, { aboveAmount, aboveDayAmount: 100_00n })
  const statusOf = async (partner: TestPartner, amount: string, by: Service = service) =>
    (await pay(by, partner, amount)).payout.status
  const usedOf = async ({ partnerId }: TestPartner) => {
    const rows = await service.db.rows<{ used: bigint }>(sql`
    select used from payouts.limit_counters where partner_id = ${partnerId} and scope = 'unapproved' order by starts_on`)
    return rows.map(({ used }) => used)
  }

  test('a payout that would exceed the daily sum needs an approval, a smaller one does not, and the next day begins at zero', async () => {
    const partner = await addHolding()
    assert.equal(await statusOf(partner, '60.00'), 'Pending')
    const { payout } = await pay(service, partner, '40.01')
    assert.equal(payout.status, 'PendingApproval')
    assert.equal(await statusOf(partner, '40.00'), 'Pending')
    assert.equal(await statusOf(partner, '0.01'), 'PendingApproval')
    assert.equal((await service.payouts.approve(partner.second, payout.id)).status, 'Pending')
    assert.deepEqual(await usedOf(partner), [100_00n], 'what a second person has approved is not counted')
    const why = await service.db.rows<{ cause: string }>(sql`
    select cause from payouts.approvals where partner_id = ${partner.partnerId}`)
    assert.deepEqual(why, [{ cause: 'day' }, { cause: 'day' }])
    for (const each of [service, other]) each.clock.advance(dayMs)
    assert.equal(await statusOf(partner, '100.00'), 'Pending')
    assert.deepEqual(await usedOf(partner), [100_00n, 100_00n])
  })

  test('of many payouts under the threshold in two processes, exactly as many are sent as the sum permits', async () => {
    const partner = await addHolding(30_00n)
    const paid = await Promise.all(
      Array.from({ length: 40 }, (_none, index) => statusOf(partner, '30.00', index % 2 === 0 ? service : other)),
    )
    const count = (status: string) => paid.filter((each) => each === status).length
    assert.deepEqual([count('Pending'), count('PendingApproval')], [3, 37])
    assert.equal(await statusOf(partner, '30.01'), 'PendingApproval', 'the amount of one payout is judged as before')
    assert.deepEqual(await usedOf(partner), [90_00n])
  })

  test('a payout that ends without a settlement is subtracted from the daily sum', async () => {
    const partner = await addHolding()
    const { payout } = await pay(service, partner, '100.00')
    assert.equal(await statusOf(partner, '1.00'), 'PendingApproval')
    assert.ok(await service.payoutLife.cancel(partner.partnerId, payout.id, 'operator'))
    assert.deepEqual(await usedOf(partner), [0n])
    assert.equal(await statusOf(partner, '1.00'), 'Pending')
  })

  test('the preview reports that the daily sum requires an approval, and does not change the sum', async () => {
    const partner = await addHolding()
    assert.equal(await statusOf(partner, '60.00'), 'Pending')
    const previewOf = async (amount: string) => {
      const body = { amount: rawNumber(amount), currency: 'EUR' as const, beneficiaryId: partner.beneficiary.id }
      const { verdicts } = await service.payouts.preview(partner.caller, { ...body, idempotencyKey: newId() }, ip)
      return {
        approval: verdicts.find(({ rule }) => rule === 'approval'),
        limits: verdicts.filter(({ rule }) => rule.startsWith('limit')),
      }
    }
    const fits = await previewOf('40.00')
    assert.equal(fits.approval?.verdict, 'notApplicable')
    const beyond = await previewOf('40.01')
    assert.equal(beyond.approval?.verdict, 'passed')
    assert.match(
      beyond.approval?.detail ?? '',
      /^The payouts of this day \(UTC\) without an approval are above 100\.00 EUR\. It waits/,
    )
    assert.deepEqual(beyond.limits, [{ rule: 'limits', verdict: 'notApplicable' }])
    assert.deepEqual(await usedOf(partner), [60_00n])
  })
})

suite('API keys that the team created', async () => {
  const service = await useModules()

  test('an API key that the team created cannot approve, and its creator cannot approve its payouts', async () => {
    const partner = await addApprovers(service, { aboveAmount: 100_00n })
    const { caller, second, third } = partner
    const { serviceAccounts, payouts } = service
    const made = {
      name: 'Robot',
      publicKeyPem: accountsOnWire.examplePublicKey,
      permissions: ['payouts:write' as const, 'users:write' as const],
    }
    const keyBy = async (by: Caller): Promise<Caller> => {
      const { serviceAccountId, name } = (await serviceAccounts.create(by, made)).account
      return { ...caller, serviceAccountId, name }
    }
    const waiting = async (by: Caller) => (await pay(service, { ...partner, caller: by }, '100.01')).payout.id
    const own = await waiting(second)
    const robot = await keyBy(second)
    // A key of the key has the same maker.
    const robotOfRobot = await keyBy(robot)
    const rotated = await serviceAccounts.rotate(second, robot.serviceAccountId, made)
    const next: Caller = { ...robot, serviceAccountId: rotated.account.serviceAccountId, name: 'Renamed' }
    for (const key of [robot, robotOfRobot, next, await keyBy(third)])
      assert.equal(await outcomeCode(payouts.approve(key, own)), 'permission_denied')
    for (const key of [robot, robotOfRobot, next]) {
      const id = await waiting(key)
      assert.equal(await outcomeCode(payouts.approve(second, id)), 'approver_is_creator')
      const renamed = { ...second, serviceAccountId: newId() }
      assert.equal(await outcomeCode(payouts.approve(renamed, id)), 'approver_is_creator')
      assert.equal(
        await outcomeCode(payouts.snapshot(second, id, { nonce: newId(), expiresAt: new Date() })),
        'approver_is_creator',
      )
      assert.equal(await outcomeCode(payouts.approve(third, id)), 'done')
    }
    assert.equal(await outcomeCode(payouts.approve(third, own)), 'done')
  })
})

suite('payee verification', async () => {
  const service = await useModules()

  const addHolding = (payeeMismatch = true) => addApprovers(service, { payeeMismatch, aboveAmount: 500_00n }, 1_000_00n)

  const payOne = async (partner: TestPartner, beneficiaryId = partner.beneficiary.id) =>
    (await pay(service, partner, '1.00', { beneficiaryId })).payout

  /** Pays, and has the bank say what it found. `meanwhile`: after the bank has the payment. */
  async function checked(
    partner: TestPartner,
    payee: 'match' | 'close_match' | 'no_match' | 'unchecked',
    meanwhile: () => Promise<unknown> = async () => {},
  ) {
    const payout = await payOne(partner)
    if (payout.status === 'PendingApproval') {
      const { second } = partner as TestPartner & { readonly second: Caller }
      await service.payouts.approve(second, payout.id)
    }
    await submitDuePayouts(service.settlement)
    await meanwhile()
    const reported = { partnerId: partner.partnerId, instructionId: instructionIdOf(payout) }
    assert.equal(await service.payoutLife.payeeChecked(reported, payee), true)
  }

  test('after a bank reports another name, payouts wait until people approve or reject them, or a bank confirms the name', async () => {
    const partner = await addHolding()
    const { partnerId, second } = partner
    assert.equal((await payOne(partner)).status, 'Pending')
    await checked(partner, 'no_match')
    const [released, withdrawn, forgotten] = [await payOne(partner), await payOne(partner), await payOne(partner)]
    assert.equal(released.status, 'PendingApproval')
    const asked = { nonce: newId(), expiresAt: new Date() }
    assert.equal((await service.payouts.snapshot(second, released.id, asked)).cause, 'payee')
    assert.equal((await service.payouts.approve(second, released.id)).status, 'Pending')
    assert.equal((await service.payouts.reject(second, withdrawn.id, 'Another name.')).status, 'Cancelled')
    await checked(partner, 'close_match')
    await checked(partner, 'unchecked')
    assert.equal((await payOne(partner)).status, 'PendingApproval')
    await checked(partner, 'match')
    assert.equal((await payOne(partner)).status, 'Pending')
    service.clock.advance(25 * hourMs)
    while ((await service.payoutLife.expireApprovalsStep()) > 0);
    assert.equal((await service.payouts.get(partnerId, forgotten.id)).status, 'Cancelled')
  })

  test("a bank's result does not apply to a name that changed before its answer", async () => {
    const partner = await addHolding()
    const { partnerId, beneficiary } = partner
    const rename = (name: string) => service.beneficiaries.update(partnerId, { id: beneficiary.id, name })
    await checked(partner, 'no_match')
    await rename('Grace B. Hopper')
    assert.equal((await payOne(partner)).status, 'Pending')
    await checked(partner, 'no_match', () => rename('Grace Brewster Hopper'))
    assert.equal((await payOne(partner)).status, 'Pending')
  })

  test('a payee verification counts whether it came before or after the beneficiary', async () => {
    const partner = await addHolding()
    const { partnerId, caller } = partner
    const payee = { name: 'NoMatch Grace', iban: 'NL91ABNA0417164300' }
    const create = async () => (await service.beneficiaries.create(partnerId, { ...payee, currency: 'EUR' })).id
    const early = await create()
    assert.equal((await payOne(partner, early)).status, 'Pending')
    assert.equal((await service.beneficiaries.verify(caller, payee)).result, 'NoMatch')
    assert.equal((await payOne(partner, early)).status, 'PendingApproval')
    assert.equal((await payOne(partner, await create())).status, 'PendingApproval')
    await service.beneficiaries.update(partnerId, { id: early, name: 'Grace Hopper' })
    assert.equal((await payOne(partner, early)).status, 'Pending')
  })

  test('without the rule no payout waits, and another partner sees nothing', async () => {
    const [without, stranger] = [await addHolding(false), await addHolding()]
    await checked(without, 'no_match')
    assert.equal((await payOne(without)).status, 'Pending')
    assert.equal((await payOne(stranger)).status, 'Pending')
  })
})
