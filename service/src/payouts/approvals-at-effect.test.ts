/** An approval counts while its person may approve; a payout stands although its maker has left, and the approver is told. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber, type users as wire } from '@partner-payments/wire'
import { addPartner, createTestService, ip, type Service } from '../../../test/support/composition.ts'
import { codeOf, password } from '../../../test/support/team.ts'
import { type Caller, Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const client = { ip: '203.0.113.7', userAgent: 'Test browser' }

/** A partner whose payouts wait above 100.00, and bulks above 100.00 in all. */
async function addHolding() {
  const partner = await addPartner(service, 1_000_000_00n)
  const { partnerId } = partner
  const none = { aboveDayAmount: null, perPersonAmount: null, beneficiaryHours: null, payeeMismatch: false }
  const amounts = { aboveAmount: 100_00n, aboveBulkAmount: 100_00n }
  const rule = { partnerId, currency: 'EUR', ...none, ...amounts, expiresHours: 24, needsPasskey: false } as const
  await service.db.transaction((tx) => service.payoutControls.approvalRules.set(tx, rule))
  return partner
}
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
  moved: (partner: Partner, { serviceAccountId: id }: Caller) =>
    service.members.updateUser(partner.caller, id, { role: 'Developer' }),
  removed: (partner: Partner, { serviceAccountId: id }: Caller) => service.members.removeUser(partner.caller, id),
}

for (const [name, make] of Object.entries(subjects))
  for (const [what, move] of Object.entries(moves)) {
    test(`${name}: an approver who was ${what} approves nothing, and another person does`, async () => {
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
    test(`${name}: that of a maker who was ${what} stands, and its approver is told`, async () => {
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
