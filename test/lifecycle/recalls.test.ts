/** Every trigger of a recall in every status, on the real database: what the table says, and nothing where it has no row. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayMs, newId, present } from '../../service/src/kernel/index.ts'
import { findTransition } from '../../service/src/lifecycle/index.ts'
import { instructionIdOf } from '../../service/src/payouts/index.ts'
import type { RecallClaim } from '../../service/src/payouts/recalls/index.ts'
import { recallLifecycle } from '../../service/src/payouts/recalls/lifecycle.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { addPartner, pay, stepMsDefault } from '../support/composition.ts'
import { useModules } from '../support/fixture.ts'

const service = await useModules()

const { statuses, triggers } = recallLifecycle
type Status = (typeof statuses)[number]
type Trigger = Exclude<(typeof triggers)[number], 'requested'>

type Subject = {
  readonly partnerId: string
  readonly payoutId: string
  readonly recallId: string
  readonly instructionId: string
  readonly reference: string
  readonly claim: RecallClaim
}

async function requested(): Promise<Subject> {
  const partner = await addPartner(service, 1000n)
  const { partnerId } = partner
  const { payout } = await pay(service, partner, '10.00')
  await submitDuePayouts(service.settlement)
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
  const { id: recallId } = await service.recalls.create(partner.caller, payout.id, { reason: 'FRAD' })
  const claim = present(await service.recalls.claim({ partnerId, id: recallId }), 'the recall is due')
  const { id: payoutId, reference } = payout
  return { partnerId, payoutId, recallId, instructionId: instructionIdOf(payout), reference, claim }
}

const answer = ({ partnerId, recallId, instructionId }: Subject, accepted: boolean) =>
  service.recalls.answered({ partnerId, recallId, instructionId, accepted, reasonCode: accepted ? null : 'LEGL' })

const provoke: Readonly<Record<Trigger, (subject: Subject) => Promise<unknown>>> = {
  taken: ({ claim }) => service.recalls.taken(claim),
  declined: ({ claim }) => service.recalls.declined(claim, null),
  accepted: (subject) => answer(subject, true),
  refused: (subject) => answer(subject, false),
  overdue: async () => {
    service.clock.advance(60 * dayMs)
    await service.recalls.expireStep()
  },
  returned: ({ partnerId, instructionId }) => {
    const report = { connector: 'sandbox', notificationId: newId(), money: { currency: 'EUR', amount: 1000n } } as const
    const failure = { errorKey: 'BankRejection', details: 'It came back.', reasonCode: 'FOCR' } as const
    return service.payoutLife.returned({ partnerId, instructionId, report }, failure)
  },
}

/** The triggers that lead to a status. */
const pathTo: Readonly<Record<Status, readonly Trigger[]>> = {
  Requested: [],
  Sent: ['taken'],
  Accepted: ['taken', 'accepted'],
  Refused: ['taken', 'refused'],
  Expired: ['taken', 'overdue'],
}

const stepsOf = async ({ partnerId, reference }: Subject) =>
  (await service.transactions.get(partnerId, reference)).timeline
    .map(({ step }) => step)
    .filter((step) => step.startsWith('Recall'))
const read = ({ partnerId, payoutId, recallId }: Subject) => service.recalls.get(partnerId, payoutId, recallId)

/** The statuses and steps that the table has for a trigger, the implied ones first. */
function expected(status: Status, trigger: Trigger): { readonly status: Status; readonly steps: readonly string[] } {
  const found = findTransition(recallLifecycle, status, trigger)
  if (found === undefined) return { status, steps: [] }
  const { to, steps } = found.transition
  if (!found.implied) return { status: to, steps }
  const behind = expected(to, trigger)
  return { status: behind.status, steps: [...steps, ...behind.steps] }
}

for (const status of statuses)
  for (const trigger of Object.keys(provoke) as Trigger[])
    test(`${trigger} in ${status} has the effects in the table`, async () => {
      const subject = await requested()
      for (const step of pathTo[status]) await provoke[step](subject)
      const earlier = await read(subject)
      assert.equal(earlier.status, status)
      const stepsBefore = await stepsOf(subject)
      await provoke[trigger](subject)
      const recall = await read(subject)
      const { status: to, steps } = expected(status, trigger)
      assert.equal(recall.status, to)
      assert.deepEqual((await stepsOf(subject)).slice(stepsBefore.length), steps)
      if (findTransition(recallLifecycle, status, trigger) === undefined) assert.deepEqual(recall, earlier)
      assert.equal(recall.settledAmount, trigger === 'returned' ? 1000n : null)
      // Repeated, nothing changes: neither the recall nor the money.
      if (trigger === 'returned') {
        await provoke.returned(subject)
        assert.deepEqual(await read(subject), recall)
      }
    })

test('the triggers and paths of the test cover every trigger and status of the table', () => {
  assert.deepEqual(['requested', ...Object.keys(provoke)].toSorted(), [...triggers].toSorted())
  assert.deepEqual(Object.keys(pathTo).toSorted(), [...statuses].toSorted())
})
