/** Checks of notifications: content, repetition, acknowledgement, limits and order. */
import assert from 'node:assert/strict'
import { newId, systemClock } from '../../kernel/index.ts'
import type { BankNotification, Instruction } from '../../rails/index.ts'
import { type Check, type CheckContext, notificationsReadMax } from './context.ts'
import type { Behaviour } from './harness.ts'

const kindsOf = (notifications: readonly BankNotification[], { id }: Instruction): readonly string[] =>
  notifications.filter(({ subjectId }) => subjectId === id).map(({ kind }) => kind)

const content: Check = {
  title: 'the bank notifies each outcome of a payment, and a settlement before its return',
  needs: ['settle', 'reject', 'return'],
  run: async (context) => {
    const settled = context.instruction()
    const rejected = context.instruction('reject')
    const returned = context.instruction('return')
    const all = [rejected, returned, settled]
    assert.deepEqual(
      await context.instruct(all),
      all.map(() => ({ accepted: true })),
    )
    const notifications = await context.notificationsOf(all, 4)
    assert.deepEqual(kindsOf(notifications, settled), ['payout.settled'])
    assert.deepEqual(kindsOf(notifications, rejected), ['payout.rejected'])
    assert.deepEqual(kindsOf(notifications, returned), ['payout.settled', 'payout.returned'])
    for (const { kind, partnerId, ...rest } of notifications) {
      assert.equal(partnerId, settled.partnerId)
      if (kind !== 'payout.settled') assert.ok('errorKey' in rest, `${kind} has its reason`)
    }
  },
}

const repeated: Check = {
  title: 'notifications repeat with the same ids until they are acknowledged, also after a restart',
  needs: ['settle'],
  run: async (context) => {
    const notifications = await sixNotifications(context)
    assert.deepEqual(await context.read(), notifications, 'a second read returns the same')
    await context.restart()
    assert.deepEqual(await context.read(), notifications, 'a read after a restart returns the same')
    await context.acknowledge(notifications)
    assert.deepEqual(await context.read(), [], 'acknowledged notifications do not come again')
    await context.restart()
    await context.harness.letTimePass()
    assert.deepEqual(await context.read(), [], 'acknowledged notifications do not come again after a restart')
  },
}

const partialAcknowledgement: Check = {
  title: 'an acknowledgement removes only its notifications; repeated or unknown ones are ignored',
  needs: ['settle'],
  run: async (context) => {
    const notifications = await sixNotifications(context)
    const [first, second, third, ...others] = notifications
    assert.ok(first && second && third)
    await context.acknowledge([second])
    assert.deepEqual(await context.read(), [first, third, ...others])
    await context.acknowledge([second])
    await context.acknowledge([{ ...second, id: newId(), subjectId: newId() }])
    assert.deepEqual(await context.read(), [first, third, ...others])
    await context.acknowledge([second, third, third])
    assert.deepEqual(await context.read(), [first, ...others])
  },
}

const limitedRead: Check = {
  title: 'a read returns the oldest notifications, up to the limit',
  needs: ['settle'],
  run: async (context) => {
    const all = await sixNotifications(context)
    const most = all.length - 2
    assert.deepEqual(await context.read(most), all.slice(0, most))
    assert.deepEqual(await context.read(1), all.slice(0, 1))
    await context.acknowledge(all.slice(0, 3))
    assert.deepEqual(await context.read(most), all.slice(3, 3 + most))
    await context.acknowledge(all.slice(3))
    const { instructionsPerCallMax } = context.connector().limits
    const full = Array.from({ length: instructionsPerCallMax }, () => context.instruction())
    await context.instruct(full)
    await context.notificationsOf(full, full.length)
  },
}

const duplicated: Check = {
  title: 'a notification that the bank sends twice is read once and acknowledged once',
  needs: ['settle', 'repeat'],
  run: async (context) => {
    context.harness.disturb('repeat')
    const notifications = await sixNotifications(context)
    await context.acknowledge(notifications)
    assert.deepEqual(await context.read(), [])
    context.harness.mend()
    assert.deepEqual(await context.read(), [])
  },
}

const reversed: Check = {
  title: 'a read returns the oldest notification first, even if the bank sends the newest first',
  needs: ['settle', 'reverse'],
  run: async (context) => {
    const notifications = await sixNotifications(context)
    context.harness.disturb('reverse')
    assert.deepEqual(await context.read(), notifications)
    assert.deepEqual(await context.read(3), notifications.slice(0, 3))
  },
}

const delayed: Check = {
  title: 'a late notification is read after newer ones were acknowledged',
  needs: ['settle', 'delay'],
  run: async (context) => {
    const late = context.instruction()
    const other = context.instruction()
    context.harness.disturb('delay')
    await context.instruct([late])
    await context.instruct([other])
    const [first] = await context.notificationsOf([late, other], 1)
    assert.equal(first?.subjectId, other.id)
    await context.acknowledge([first])
    context.harness.mend()
    await context.notificationsOf([late], 1)
  },
}

const oldestTime: Check = {
  title: 'the time of the oldest notification is null after all are acknowledged',
  needs: ['settle'],
  run: async (context) => {
    const { clock = systemClock } = context.harness
    const oldestNotification = () => context.connector().oldestNotification(clock.now())
    assert.equal(await oldestNotification(), null)
    const notifications = await sixNotifications(context)
    const since = await oldestNotification()
    assert.ok(since instanceof Date && since <= clock.now(), `a time that has passed: ${since?.toISOString()}`)
    await context.acknowledge(notifications)
    assert.equal(await oldestNotification(), null)
  },
}

/** Creates and reads six notifications, the only ones at the bank. A blockchain does not return a settled payment. */
async function sixNotifications(context: CheckContext): Promise<readonly BankNotification[]> {
  const returns = context.harness.cannot?.includes('return') !== true
  const behaviours: readonly Behaviour[] = returns
    ? ['settle', 'return', 'settle', 'return']
    : ['settle', 'settle', 'settle', 'settle', 'settle', 'settle']
  const instructions = behaviours.map((behaviour) => context.instruction(behaviour))
  await context.instruct(instructions)
  await context.notificationsOf(instructions, 6)
  const all = await context.read(notificationsReadMax)
  assert.equal(all.length, 6, 'a read returns only the notifications of these instructions')
  return all
}

export const notificationChecks: readonly Check[] = [
  content,
  repeated,
  partialAcknowledgement,
  limitedRead,
  duplicated,
  reversed,
  delayed,
  oldestTime,
]
